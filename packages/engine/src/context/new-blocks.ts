/** Whether blocks that a session is to begin with fit it. Pure. Asked before anything of the session is stored. */
import { MAX_CONTEXT_BYTES, type NewBlock } from "@sessionplane/shared/block";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { utf8Bytes } from "../messages/split-text.ts";
import { excess } from "./context-block.ts";

export const overLimit = (
  label: string,
  pointer: string,
  content: string,
  maxTokens: number | null | undefined,
): Problem | null => {
  const over = excess(content, maxTokens);
  if (over === null) return null;
  return fieldProblem("block_over_limit", pointer, `block "${label}" exceeds maxTokens: ${over.tokens} > ${over.max}`);
};

export const CONTEXT_FULL = problem(
  "context_full",
  `The texts of a session's blocks have at most ${MAX_CONTEXT_BYTES} bytes in all.`,
);

export function checkNewBlocks(blocks: readonly NewBlock[]): Problem | null {
  // As JSON, which is what a catalog keeps of them until the session is there.
  if (blocks.length > 0 && utf8Bytes(JSON.stringify(blocks)) > MAX_CONTEXT_BYTES) return CONTEXT_FULL;
  for (const [index, { label, content = "", max_tokens: max }] of blocks.entries()) {
    const refused = overLimit(label, `/blocks/${index}/content`, content, max);
    if (refused !== null) return refused;
  }
  return null;
}

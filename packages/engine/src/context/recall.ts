/**
 * Messages behind a summary as text for a model, as many as a budget of tokens takes, and how to go on. Pure.
 * The plane's object and the library's recall both use it.
 */
import { cut } from "../compaction/transcript.ts";
import { estimateText } from "../tokens/estimate.ts";

export type Original = { readonly id: string; readonly role: string; readonly text: string };

/** Of one answer: what a model can take in beside the conversation that made it ask. */
export const RECALL_TOKENS = 4_000;

/** An id is a caller's text: as JSON it stays on its line. */
const heading = ({ id, role }: Original): string => `[${role}, id ${JSON.stringify(id)}]`;

/** One that alone is larger than the budget is given by its beginning: nothing could go on in its midst. */
function fitting(text: string, tokens: number, budget: number): string {
  return tokens <= budget ? text : cut(text, Math.floor(([...text].length * budget) / tokens));
}

/** In the order given, at least one; null when there are none. Reads no more of `originals` than it needs. */
export function renderOriginals(originals: Iterable<Original>, budget = RECALL_TOKENS): string | null {
  const shown: string[] = [];
  let last = "";
  let left = budget;
  for (const original of originals) {
    const section = `${heading(original)}\n${original.text}`;
    const tokens = estimateText(section);
    if (shown.length > 0 && tokens > left)
      return [...shown, `(There is more: ask again with after ${JSON.stringify(last)}.)`].join("\n\n");
    shown.push(fitting(section, tokens, budget));
    left -= tokens;
    last = original.id;
  }
  return shown.length === 0 ? null : shown.join("\n\n");
}

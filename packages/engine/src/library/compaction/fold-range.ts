/** A range of any length as one summary: pieces that fit a call, each folded into the summary of those before it. */
import { INSTRUCTIONS, summaryPrompt } from "../../compaction/prompt.ts";
import { type Entry, entryOf } from "../../compaction/transcript.ts";
import { estimateText } from "../../tokens/estimate.ts";
import { asStored, isCompactionMessage, type SessionMessage } from "../session-message.ts";

/** What one call reads at most: fits models with a window of 64k tokens, with room for what they write. */
const CALL_TOKENS = 48_000;
/** Of one entry, in code points: at one token each, as CJK has it, still less than a call reads. */
const MAX_ENTRY_CHARACTERS = 40_000;

export type Summarise = (prompt: string) => string | Promise<string>;

function* entriesOf(message: SessionMessage): Generator<Entry> {
  const { id, role } = message;
  const { text } = entryOf(asStored(JSON.stringify(message)));
  const points = text.length <= MAX_ENTRY_CHARACTERS ? null : [...text];
  for (let at = 0; at < (points?.length ?? text.length); at += MAX_ENTRY_CHARACTERS) {
    const piece = points === null ? text : points.slice(at, at + MAX_ENTRY_CHARACTERS).join("");
    yield isCompactionMessage(message) ? { kind: "summary", text: piece } : { kind: "message", id, role, text: piece };
  }
}

const promptFor = (entries: readonly Entry[], targetTokens: number): string =>
  `${INSTRUCTIONS}\n\n${summaryPrompt({ entries, nonce: crypto.randomUUID(), targetTokens, rejectedBecause: null })}`;

/** Null when the range holds nothing that was said, or the model says nothing. */
export async function foldRange(
  range: readonly SessionMessage[],
  targetTokens: number,
  summarise: Summarise,
): Promise<string | null> {
  let call: Entry[] = [];
  let tokens = 0;
  const ask = async (): Promise<string> => (call.length === 0 ? "" : await summarise(promptFor(call, targetTokens)));
  for (const entry of range.flatMap((message) => [...entriesOf(message)])) {
    const size = estimateText(entry.text);
    if (call.length > 0 && tokens + size > CALL_TOKENS) {
      const text = await ask();
      if (text.trim() === "") return null;
      call = [{ kind: "summary", text }];
      tokens = estimateText(text);
    }
    call.push(entry);
    tokens += size;
  }
  const summary = await ask();
  return summary.trim() === "" ? null : summary;
}

/**
 * A range of any length as one summary: chunks that fit a call, each folded into the summary of those before
 * it. Called by `run-job.ts`; knows neither the session's object nor the model, only how to read and to ask.
 */
import { factText, factsOf, summaryFactText } from "@sessionplane/engine/compaction/facts";
import { type Entry, entryOf } from "@sessionplane/engine/compaction/transcript";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { JobItem } from "@sessionplane/shared/rpc/job-rpc";
import type { SeqPage } from "@sessionplane/shared/rpc/session-rpc";

/** What one call reads at most: fits models with a window of 64k tokens, with room for what they write. */
export const CHUNK_TOKENS = 48_000;
/** Of one entry, in code points: at one token each, as CJK has it, still less than a chunk. */
const MAX_ENTRY_CHARACTERS = 40_000;
/** A text of nothing but numbers has more than anyone can check against a summary. */
const MAX_FACTS = 20_000;

export type ReadPage<E> = (afterSeq: number) => Promise<Result<SeqPage<JobItem>, E>>;
export type Summarise<E> = (entries: readonly Entry[]) => Promise<Result<string, E>>;
export type Folded = { readonly summary: string; readonly facts: readonly string[] };

function* piecesOf(item: JobItem): Generator<Entry> {
  const entry: Entry = item.kind === "overlay" ? { kind: "summary", text: item.summary } : entryOf(item.message);
  if (entry.text.length <= MAX_ENTRY_CHARACTERS) {
    if (entry.text !== "") yield entry;
    return;
  }
  const points = [...entry.text];
  for (let at = 0; at < points.length; at += MAX_ENTRY_CHARACTERS) {
    yield { ...entry, text: points.slice(at, at + MAX_ENTRY_CHARACTERS).join("") };
  }
}

/** The range's items, page by page: it may be larger than the memory of a worker. */
async function* itemsOf<E>(read: ReadPage<E>): AsyncGenerator<Result<JobItem, E>> {
  for (let after: number | null = 0; after !== null;) {
    const page: Result<SeqPage<JobItem>, E> = await read(after);
    if (!page.ok) {
      yield page;
      return;
    }
    for (const item of page.value.items) yield ok(item);
    after = page.value.next_seq;
  }
}

/** Null: the range holds nothing that was said. The first refusal ends it. */
export async function fold<E>(read: ReadPage<E>, summarise: Summarise<E>): Promise<Result<Folded | null, E>> {
  const facts = new Set<string>();
  let chunk: Entry[] = [];
  let tokens = 0;
  for await (const item of itemsOf(read)) {
    if (!item.ok) return item;
    const text = item.value.kind === "overlay" ? summaryFactText(item.value.summary) : factText(item.value.message);
    for (const fact of factsOf(text)) if (facts.size < MAX_FACTS) facts.add(fact);
    for (const piece of piecesOf(item.value)) {
      const size = estimateText(piece.text);
      if (chunk.length > 0 && tokens + size > CHUNK_TOKENS) {
        const summary = await summarise(chunk);
        if (!summary.ok) return err(summary.error);
        chunk = [{ kind: "summary", text: summary.value }];
        tokens = estimateText(summary.value);
      }
      chunk.push(piece);
      tokens += size;
    }
  }
  if (chunk.length === 0) return ok(null);
  const summary = await summarise(chunk);
  return summary.ok ? ok({ summary: summary.value, facts: [...facts] }) : err(summary.error);
}

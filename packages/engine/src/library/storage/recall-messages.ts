/** The originals behind compactions, as a model asks for them: by the summary, by words, a page at a time. */
import { messageSchema } from "@sessionplane/shared/message";
import { entryOf } from "../../compaction/transcript.ts";
import { type Original, recallText } from "../../context/recall.ts";
import type { Outcome, Recall } from "../../context/run-tool.ts";
import { standing } from "../../history/apply-overlays.ts";
import { maskedRead } from "../../history/masked-read.ts";
import { matchExpression, parseQuery } from "../../search/query.ts";
import type { StoredOverlay } from "../../storage/sqlite/overlays.ts";
import { type Range, contains, within } from "../../tree/runs.ts";
import { completeIndex } from "./search-messages.ts";
import type { SessionTables } from "./session-tables.ts";

/** Hits that one question pages through. */
const MAX_HITS = 200;
const ANY_TIME = { from: 0, before: Number.MAX_SAFE_INTEGER };
const MESSAGE_PREFIX = /^compaction_/;

/** Where the originals of a summary are. */
const rangesOf = (tables: SessionTables, { from_seq: from, to_seq: to }: StoredOverlay): Range[] =>
  within(tables.messages.pathTo(to), from, to);

/** Of one summary, or of all that the history shows. */
function rangesFor(tables: SessionTables, summaryId: string | undefined): Outcome<readonly Range[]> {
  const overlays = tables.overlays.all();
  if (summaryId === undefined) {
    const shown = standing(overlays, tables.messages.pathTo(tables.messages.activeLeaf()));
    return { ok: true, value: shown.flatMap((overlay) => rangesOf(tables, overlay)) };
  }
  const id = summaryId.replace(MESSAGE_PREFIX, "");
  const overlay = overlays.find((one) => one.id === id);
  if (overlay === undefined) return { ok: false, because: `there is no summary "${summaryId}"` };
  return { ok: true, value: rangesOf(tables, overlay) };
}

/** The ranges of the messages that have the words, in the order of the conversation. */
function withWords(tables: SessionTables, ranges: readonly Range[], query: string): Range[] {
  const expression = matchExpression(parseQuery(query));
  if (expression === null || ranges.length === 0) return [];
  completeIndex(tables);
  const hits = tables.search.find(expression, { created: ANY_TIME, path: ranges }, MAX_HITS);
  return hits.map(({ seq }) => ({ first: seq, last: seq })).toSorted((a, b) => a.first - b.first);
}

/** As a history shows them: without what was unloaded. */
function* originalsIn(tables: SessionTables, ranges: readonly Range[]): Generator<Original> {
  const masks = tables.skills.masks();
  for (const read of tables.messages.scan(ranges, "asc")) {
    const message = messageSchema.parse(JSON.parse(maskedRead(read, masks).json));
    yield { id: message.id, role: message.role, text: entryOf(message).text };
  }
}

/** A value of null: nothing was found. */
export function recallMessages(tables: SessionTables, { summaryId, query, after }: Recall): Outcome<string | null> {
  const ranges = rangesFor(tables, summaryId);
  if (!ranges.ok) return ranges;
  const place = after === undefined ? 0 : tables.messages.seqOf(after);
  if (place === null || (after !== undefined && !contains(ranges.value, place)))
    return { ok: false, because: `no summary stands for a message "${after}"` };
  const found = query === undefined ? ranges.value : withWords(tables, ranges.value, query);
  return { ok: true, value: recallText(originalsIn(tables, within(found, place + 1, Number.MAX_SAFE_INTEGER))) };
}

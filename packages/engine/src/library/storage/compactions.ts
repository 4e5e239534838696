/** Summaries that stand for ranges: storing them for two ids, and for what a compaction function found. */
import { formatInstant } from "@sessionplane/shared/fields";
import { newId } from "@sessionplane/shared/ids";
import { standing } from "../../history/apply-overlays.ts";
import { overlayTokens } from "../../history/overlay-message.ts";
import type { StoredOverlay } from "../../storage/sqlite/overlays.ts";
import { type Range, contains, within } from "../../tree/runs.ts";
import type { CompactResult } from "../conversation.ts";
import { SessionError, unknownMessage } from "../session-error.ts";
import type { StoredCompaction } from "../session-events.ts";
import type { SessionTables } from "./session-tables.ts";

/** Of the message that stands for an overlay. */
const MESSAGE_PREFIX = "compaction_";

export const toCompaction = (
  overlay: Pick<StoredOverlay, "id" | "summary" | "from_id" | "to_id" | "created_at">,
): StoredCompaction => ({
  id: overlay.id,
  summary: overlay.summary,
  fromMessageId: overlay.from_id,
  toMessageId: overlay.to_id,
  createdAt: formatInstant(overlay.created_at),
});

type Ends = { readonly from: number; readonly to: number };

/** A message's place, or the ends of the overlay whose message it is. */
function endsOf(tables: SessionTables, id: string): Ends {
  const overlay = tables.overlays.all().find((one) => `${MESSAGE_PREFIX}${one.id}` === id);
  if (overlay !== undefined) return { from: overlay.from_seq, to: overlay.to_seq };
  const seq = tables.messages.seqOf(id);
  if (seq === null) throw unknownMessage(id);
  return { from: seq, to: seq };
}

function checkEnds({ from, to }: Ends, path: readonly Range[]): void {
  if (from <= to && contains(path, from) && contains(path, to)) return;
  throw new SessionError("invalid_range", "a range begins and ends with messages of one path, in its order");
}

function store(tables: SessionTables, { from, to }: Ends, summary: string): StoredCompaction {
  if (summary.trim() === "") throw new SessionError("invalid_summary", "the summary is empty");
  const range = within(tables.messages.pathTo(to), from, to);
  let tokens = 0;
  let messages = 0;
  for (const row of tables.messages.scanMeta(range)) {
    tokens += row.tokens;
    messages += 1;
  }
  const overlay = {
    id: newId("overlay"),
    from_seq: from,
    to_seq: to,
    from_id: tables.messages.idOf(from) ?? "",
    to_id: tables.messages.idOf(to) ?? "",
    summary,
    messages,
    tokens_before: tokens,
    tokens_after: overlayTokens(summary),
    retention: null,
    model: null,
    job_id: null,
    created_at: Date.now(),
  };
  tables.atomically(() => tables.overlays.insert({ ...overlay, seq: tables.sequence.next() }));
  return toCompaction(overlay);
}

export function addCompaction(tables: SessionTables, summary: string, fromId: string, toId: string): StoredCompaction {
  const ends = { from: endsOf(tables, fromId).from, to: endsOf(tables, toId).to };
  checkEnds(ends, tables.messages.pathTo(ends.to));
  return store(tables, ends, summary);
}

/**
 * A range with the earlier summaries that it reaches into, and those right before it: a compaction function is
 * given them to go on from. What is neither summarised nor in the range is never swallowed.
 */
function withEarlier(tables: SessionTables, ends: Ends, path: readonly Range[]): Ends {
  let { from, to } = ends;
  for (const overlay of standing(tables.overlays.all(), path).toReversed()) {
    const { from_seq: first, to_seq: last } = overlay;
    if (last >= to && first <= to) to = last;
    const isNext = last < from && tables.messages.countOn(within(path, last + 1, from - 1)) === 0;
    if (isNext || (first < from && last >= from)) from = first;
  }
  return { from, to };
}

/** `since`: where the log stood when the history was read that the summary is of. */
export function commitCompaction(tables: SessionTables, leaf: number, since: number, result: CompactResult): StoredCompaction {
  const path = tables.messages.pathTo(tables.messages.nearest(leaf));
  const ends = { from: endsOf(tables, result.fromMessageId).from, to: endsOf(tables, result.toMessageId).to };
  checkEnds(ends, path);
  const whole = withEarlier(tables, ends, path);
  if (tables.messages.changedSince(within(path, whole.from, whole.to), since))
    throw new SessionError("range_changed", "messages of the range changed while it was summarised");
  return store(tables, whole, result.summary);
}

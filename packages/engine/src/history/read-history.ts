/**
 * Reads of a path: pages, recent windows and windows of a stream. Content is read only for what is
 * returned; stored JSON is passed on without being parsed.
 */
import { formatInstant } from "@sessionplane/shared/fields";
import type { MessageMeta } from "@sessionplane/shared/message";
import type { HistoryItem, HistoryOrder, HistoryView } from "@sessionplane/shared/rpc/session-rpc";
import type { MessageRead, MessageStore } from "../storage/sqlite/messages.ts";
import type { StoredOverlay } from "../storage/sqlite/overlays.ts";
import { utf8Bytes } from "../storage/sqlite/split-text.ts";
import type { Range } from "../tree/runs.ts";
import { type Segment, segments, standing } from "./apply-overlays.ts";
import { overlayMessage } from "./overlay-message.ts";

/** A message of a history, with the place where a read goes on after it. */
export type Read = {
  readonly json: string;
  readonly tokens: number;
  readonly bytes: number;
  readonly resumeAfter: number;
  /** Made when it is asked for: a stream sends content alone. */
  readonly meta: () => MessageMeta;
};

export const itemOf = (read: Read): HistoryItem => ({ json: read.json, meta: read.meta() });

export type HistoryPlan = { readonly segments: readonly Segment<StoredOverlay>[]; readonly order: HistoryOrder };

/** The history of a path as segments, in the order of the read. */
export function planHistory(
  path: readonly Range[],
  overlays: readonly StoredOverlay[],
  view: HistoryView,
  order: HistoryOrder,
): HistoryPlan {
  const inOrder = segments(path, view === "raw" ? [] : standing(overlays, path));
  return { segments: order === "asc" ? inOrder : inOrder.reverse(), order };
}

const metaOf = (row: MessageRead, parentId: string | null): MessageMeta => ({
  id: row.id,
  parent_id: parentId,
  seq: row.seq,
  token_estimate: row.tokens,
  bytes: row.bytes,
  created_at: formatInstant(row.created_at),
});

function readOverlay(messages: MessageStore, overlay: StoredOverlay, order: HistoryOrder): Read {
  const message = overlayMessage(overlay);
  const json = JSON.stringify(message);
  const bytes = utf8Bytes(json);
  const meta = (): MessageMeta => ({
    id: message.id,
    parent_id: messages.parentOf(overlay.from_seq)?.id ?? null,
    seq: overlay.seq,
    token_estimate: overlay.tokens_after,
    bytes,
    created_at: formatInstant(overlay.created_at),
  });
  const resumeAfter = order === "asc" ? overlay.to_seq : overlay.from_seq;
  return { json, tokens: overlay.tokens_after, bytes, resumeAfter, meta };
}

const readRow = (row: MessageRead, parentId: string | null): Read => ({
  json: row.json,
  tokens: row.tokens,
  bytes: row.bytes,
  resumeAfter: row.seq,
  meta: () => metaOf(row, parentId),
});

/** The range's messages, each with its parent: the row before it, the last one's or first one's looked up. */
function* readRange(messages: MessageStore, range: Range, order: HistoryOrder): Generator<Read> {
  if (order === "asc") {
    let parentId: string | null | undefined;
    for (const row of messages.scan(range, order)) {
      parentId ??= messages.parentOf(row.seq)?.id ?? null;
      yield readRow(row, parentId);
      parentId = row.id;
    }
    return;
  }
  let pending: MessageRead | undefined;
  for (const row of messages.scan(range, order)) {
    if (pending !== undefined) yield readRow(pending, row.id);
    pending = row;
  }
  if (pending !== undefined) yield readRow(pending, messages.parentOf(pending.seq)?.id ?? null);
}

/** The part of a segment past the place where the last read ended. */
function past(segment: Segment<StoredOverlay>, order: HistoryOrder, after: number): Segment<StoredOverlay> | null {
  if (segment.kind === "overlay") {
    const { from_seq: from, to_seq: to } = segment.overlay;
    return (order === "asc" ? from > after : to < after) ? segment : null;
  }
  const { first, last } = segment.range;
  const range = order === "asc" ? { first: Math.max(first, after + 1), last } : { first, last: Math.min(last, after - 1) };
  return range.first <= range.last ? { kind: "messages", range } : null;
}

/** The history from where the last read ended (`after`, undefined: from its beginning), lazily. */
export function* readHistory(messages: MessageStore, plan: HistoryPlan, after?: number): Generator<Read> {
  for (const segment of plan.segments) {
    const rest = after === undefined ? segment : past(segment, plan.order, after);
    if (rest === null) continue;
    if (rest.kind === "overlay") yield readOverlay(messages, rest.overlay, plan.order);
    else yield* readRange(messages, rest.range, plan.order);
  }
}

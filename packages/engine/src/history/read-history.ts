/**
 * Reads of a path: pages, recent windows and windows of a stream. Content is read only for what is
 * returned; stored JSON is passed on without being parsed.
 */
import { formatInstant } from "@sessionplane/shared/fields";
import type { MessageMeta } from "@sessionplane/shared/message";
import type { HistoryItem, HistoryOrder, HistoryView } from "@sessionplane/shared/rpc/session-rpc";
import type { MessageRead } from "../storage/sqlite/message-rows.ts";
import type { MessageTree } from "../storage/sqlite/message-tree.ts";
import type { StoredOverlay } from "../storage/sqlite/overlays.ts";
import type { Masks } from "../storage/sqlite/skill-state.ts";
import { utf8Bytes } from "../messages/split-text.ts";
import { type Range, within } from "../tree/runs.ts";
import { type Segment, segments, standing } from "./apply-overlays.ts";
import { maskedRead } from "./masked-read.ts";
import { overlayMessage } from "./overlay-message.ts";

/** An overlay as it is read: a message that nobody wrote. */
type OverlayRead = {
  readonly overlay: StoredOverlay;
  readonly json: string;
  readonly tokens: number;
  readonly bytes: number;
};
export type Read = MessageRead | OverlayRead;

/** A path as segments, in the order of the read, and the documents that are hidden in its messages. */
export type HistoryPlan = {
  readonly path: readonly Range[];
  readonly segments: readonly Segment<StoredOverlay>[];
  readonly order: HistoryOrder;
  readonly masks: Masks;
};

/** What a history has in place of what was written. The raw view has nothing of it. */
type Views = { readonly overlays: readonly StoredOverlay[]; readonly masks: Masks };

const NO_VIEWS: Views = { overlays: [], masks: new Map() };

export function planHistory(path: readonly Range[], views: Views, view: HistoryView, order: HistoryOrder): HistoryPlan {
  const { overlays, masks } = view === "raw" ? NO_VIEWS : views;
  const inOrder = segments(path, standing(overlays, path));
  return { path, segments: order === "asc" ? inOrder : inOrder.reverse(), order, masks };
}

function readOverlay(overlay: StoredOverlay): OverlayRead {
  const json = JSON.stringify(overlayMessage(overlay));
  return { overlay, json, tokens: overlay.tokens_after, bytes: utf8Bytes(json) };
}

/** The place where a read goes on after this one. */
export function placeAfter(read: Read, order: HistoryOrder): number {
  if (!("overlay" in read)) return read.seq;
  return order === "asc" ? read.overlay.to_seq : read.overlay.from_seq;
}

/** What of a path lies past a place. */
const beyond = (path: readonly Range[], order: HistoryOrder, after: number): Range[] =>
  order === "asc" ? within(path, after + 1, Number.MAX_SAFE_INTEGER) : within(path, 0, after - 1);

/**
 * The part of a segment past the place where the last read ended. An overlay that was made around that
 * place since then has been read in part: the rest of its messages shows.
 */
function past(segment: Segment<StoredOverlay>, { path, order }: HistoryPlan, after: number): Segment<StoredOverlay> | null {
  if (segment.kind === "messages") {
    const rest = beyond(segment.path, order, after);
    return rest.length > 0 ? { kind: "messages", path: rest } : null;
  }
  const { from_seq: from, to_seq: to } = segment.overlay;
  if (order === "asc" ? from > after : to < after) return segment;
  const rest = beyond(within(path, from, to), order, after);
  return rest.length > 0 ? { kind: "messages", path: rest } : null;
}

function* withMasks(reads: Iterable<MessageRead>, masks: Masks): Generator<MessageRead, void, undefined> {
  for (const read of reads) yield maskedRead(read, masks);
}

/** The history from where the last read ended (`after`, undefined: from its beginning), lazily. */
export function* readHistory(messages: MessageTree, plan: HistoryPlan, after?: number): Generator<Read, void, undefined> {
  for (const segment of plan.segments) {
    const rest = after === undefined ? segment : past(segment, plan, after);
    if (rest === null) continue;
    if (rest.kind === "overlay") yield readOverlay(rest.overlay);
    else {
      const reads = messages.scan(rest.path, plan.order);
      yield* plan.masks.size === 0 ? reads : withMasks(reads, plan.masks);
    }
  }
}

const overlayMeta = (messages: MessageTree, { overlay, bytes }: OverlayRead): MessageMeta => ({
  id: overlayMessage(overlay).id,
  parent_id: messages.parentOf(overlay.from_seq)?.id ?? null,
  seq: overlay.seq,
  token_estimate: overlay.tokens_after,
  bytes,
  created_at: formatInstant(overlay.created_at),
});

export const messageMeta = (read: MessageRead, parentId: string | null): MessageMeta => ({
  id: read.id,
  parent_id: parentId,
  seq: read.seq,
  token_estimate: read.tokens,
  bytes: read.bytes,
  created_at: formatInstant(read.created_at),
});

/** What was read, with what is known of it. A message's parent is mostly the one read beside it. */
export function toItems(messages: MessageTree, reads: readonly Read[], order: HistoryOrder): HistoryItem[] {
  return reads.map((read, index) => {
    if ("overlay" in read) return { json: read.json, meta: overlayMeta(messages, read) };
    const above = reads[order === "asc" ? index - 1 : index + 1];
    const parentId = above !== undefined && !("overlay" in above) ? above.id : (messages.parentOf(read.seq)?.id ?? null);
    return { json: read.json, meta: messageMeta(read, parentId) };
  });
}

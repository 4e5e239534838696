/** Reading a session: pages, the recent window, the stream, one message. */
import { messageSchema } from "@sessionplane/shared/message";
import { NOT_FOUND, type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type {
  AttachmentContent,
  HistoryItem,
  HistoryPage,
  HistoryPlace,
  HistoryQuery,
  MediaQuery,
  StoredMessage,
  StreamQuery,
} from "@sessionplane/shared/rpc/session-rpc";
import {
  type HistoryPlan,
  type Read,
  messageMeta,
  placeAfter,
  planHistory,
  readHistory,
  toItems,
} from "@sessionplane/engine/history/read-history";
import { type Limits, MAX_PAGE_BYTES, take } from "@sessionplane/engine/history/recent-window";
import { base64Length } from "@sessionplane/engine/messages/media";
import type { Masks } from "@sessionplane/engine/storage/sqlite/skill-state";
import type { SessionStore } from "../session-store.ts";
import type { MediaBucket } from "./media-bucket.ts";
import { ERASED_MEANWHILE, isErased } from "../session-row.ts";
import { lostMedia, truncated, wholeFrom } from "./truncate-older.ts";

const MAX_STREAM_ROWS = 200;
/** More than the API asks for; what is sent beside the content stays small. */
const MAX_PAGE_ROWS = 1_000;
/** A window of tiny messages: what is sent beside each adds up. */
const MAX_WINDOW_ROWS = 10_000;

/** The leaf to read to; 0 in an empty session. A read that goes on keeps the path that it began with. */
export function leafOf(
  store: SessionStore,
  { leaf_id: id, after }: { readonly leaf_id?: string; readonly after?: HistoryPlace },
): Result<number, Problem> {
  if (after !== undefined) return ok(after.leaf);
  if (id === undefined) return ok(store.messages.activeLeaf());
  const seq = store.messages.seqOf(id);
  if (seq !== null) return ok(seq);
  const message = `${id} is not a message of this session`;
  return err(problem("unknown_leaf", message, { errors: [{ pointer: "?leaf_id", code: "unknown_leaf", message }] }));
}

const planOf = (store: SessionStore, leaf: number, { view, order }: StreamQuery): HistoryPlan =>
  planHistory(store.messages.pathTo(leaf), { overlays: store.overlays.all(), masks: store.skills.masks() }, view, order);

/** With attachments in place a message weighs what they weigh too, but for those in a document that is hidden. */
function* weighed(store: SessionStore, reads: Iterable<Read>, masks: Masks): Generator<Read> {
  for (const read of reads) {
    const placed = "overlay" in read ? 0 : base64Length(store.media.bytesOf(read.seq));
    const isMasked = placed > 0 && !("overlay" in read) && masks.has(read.seq);
    const bytes = isMasked ? placed - lostMedia(store, read.seq, messageSchema.parse(JSON.parse(read.json))).bytes : placed;
    yield bytes === 0 ? read : { ...read, bytes: read.bytes + bytes };
  }
}

/** Where a read goes on, and from where on its messages are whole: as the read began, whatever was written since. */
type Progress = { readonly after?: number | undefined; readonly wholeFrom: number };

function readsOf(store: SessionStore, plan: HistoryPlan, { attachments }: MediaQuery, progress: Progress): Iterable<Read> {
  const inline = attachments === "inline";
  const stored = readHistory(store.messages, plan, progress.after);
  const reads = inline ? weighed(store, stored, plan.masks) : stored;
  return progress.wholeFrom === 0 ? reads : truncated(store, reads, progress.wholeFrom, inline);
}

/** A read that goes on cuts what it cut when it began. */
const wholeFromOf = (store: SessionStore, leaf: number, query: StreamQuery & { readonly after?: HistoryPlace }): number =>
  query.truncate_older === undefined
    ? 0
    : (query.after?.whole_from ?? wholeFrom(store, planOf(store, leaf, query), query.truncate_older));

/** The longest recent run within the limits, in the order asked for. */
function readWindow(store: SessionStore, leaf: number, query: HistoryQuery): { items: HistoryItem[]; truncated: boolean } {
  const limits: Limits = {
    count: MAX_WINDOW_ROWS,
    bytes: Math.min(query.max_bytes ?? MAX_PAGE_BYTES, MAX_PAGE_BYTES),
    tokens: query.max_tokens ?? Number.MAX_SAFE_INTEGER,
  };
  const reads = readsOf(store, planOf(store, leaf, { ...query, order: "desc" }), query, {
    wholeFrom: wholeFromOf(store, leaf, query),
  });
  const { taken, more } = take(reads, limits);
  const items = toItems(store.messages, taken, "desc");
  return { items: query.order === "desc" ? items : items.reverse(), truncated: more };
}

function readPage(store: SessionStore, leaf: number, query: HistoryQuery): { items: HistoryItem[]; next: HistoryPlace | null } {
  const count = Math.min(Math.max(1, query.limit), MAX_PAGE_ROWS);
  const limits: Limits = { count, bytes: MAX_PAGE_BYTES, tokens: Number.MAX_SAFE_INTEGER };
  const progress = { after: query.after?.seq, wholeFrom: wholeFromOf(store, leaf, query) };
  const { taken, more } = take(readsOf(store, planOf(store, leaf, query), query, progress), limits);
  const last = taken.at(-1);
  const cut = query.truncate_older === undefined ? {} : { whole_from: progress.wholeFrom };
  const next = more && last !== undefined ? { leaf, seq: placeAfter(last, query.order), ...cut } : null;
  return { items: toItems(store.messages, taken, query.order), next };
}

export function readMessages(store: SessionStore, query: HistoryQuery): Result<HistoryPage, Problem> {
  const leaf = leafOf(store, query);
  if (!leaf.ok) return leaf;
  const end = store.messages.nearest(leaf.value);
  const { bytes, tokens } = store.messages.totalsTo(end);
  const whole = {
    leaf_id: store.messages.idOf(end),
    total_content_bytes: bytes,
    token_estimate: query.view === "raw" ? tokens : store.historyTokens(end),
  };
  if (query.max_bytes !== undefined || query.max_tokens !== undefined) {
    return ok({ ...whole, ...readWindow(store, leaf.value, query), next: null });
  }
  return ok({ ...whole, ...readPage(store, leaf.value, query), truncated: false });
}

const seqOfRead = (read: Read): number | null => ("overlay" in read ? null : read.seq);

/** The page with attachments in place. */
export async function inlinePage(store: SessionStore, page: HistoryPage, bucket: MediaBucket): Promise<HistoryPage> {
  return { ...page, items: await bucket.inline(store, page.items, (item) => item.meta.seq) };
}

/**
 * NDJSON, a window at a time: the next is read when the last was taken, so nothing piles up. `bucket` puts
 * attachments in place, when they are asked for.
 */
export function streamMessages(
  store: SessionStore,
  query: StreamQuery,
  bucket: MediaBucket,
): Result<ReadableStream<Uint8Array>, Problem> {
  const leaf = leafOf(store, query);
  if (!leaf.ok) return leaf;
  const limits: Limits = { count: MAX_STREAM_ROWS, bytes: MAX_PAGE_BYTES, tokens: Number.MAX_SAFE_INTEGER };
  const encoder = new TextEncoder();
  const progress = { wholeFrom: wholeFromOf(store, leaf.value, query) };
  let after: number | undefined;
  const stream = new ReadableStream({
    type: "bytes",
    async pull(controller: ReadableByteStreamController) {
      if (isErased(store)) return controller.error(new Error(ERASED_MEANWHILE));
      // Planned anew: an overlay that is gone since must not be sent.
      const { taken, more } = take(readsOf(store, planOf(store, leaf.value, query), query, { ...progress, after }), limits);
      const last = taken.at(-1);
      if (last !== undefined) after = placeAfter(last, query.order);
      const lines = query.attachments === "inline" ? await bucket.inline(store, taken, seqOfRead) : taken;
      if (isErased(store)) return controller.error(new Error(ERASED_MEANWHILE));
      if (lines.length > 0) controller.enqueue(encoder.encode(lines.map((line) => `${line.json}\n`).join("")));
      if (!more) {
        controller.close();
        // A byte stream that is closed while it is pulled must be told that nothing comes.
        controller.byobRequest?.respond(0);
      }
    },
  });
  return ok(stream);
}

export function readMessage(store: SessionStore, { id }: { readonly id: string }): Result<StoredMessage, Problem> {
  const read = store.messages.find(id);
  if (read === null) return err(NOT_FOUND);
  const meta = messageMeta(read, store.messages.parentOf(read.seq)?.id ?? null);
  return ok({ json: read.json, meta, version: store.messages.versionOf(read.seq) });
}

/** What a link names. Bytes came under one media type or several: the one that is asked for, if it is one of them. */
export function readAttachment(
  store: SessionStore,
  query: { readonly id: string; readonly media_type: string },
): Result<AttachmentContent, Problem> {
  const stored = store.media.find(query.id);
  const ref = store.media.refTo(query.id, query.media_type);
  if (stored === null || ref === null) return err(NOT_FOUND);
  const { bytes, sha256, r2_key: key } = stored;
  const content = key === null ? store.media.content(query.id) : null;
  return ok({
    media_type: ref.mediaType,
    bytes,
    sha256,
    content: key === null ? { kind: "bytes", bytes: content ?? new Uint8Array() } : { kind: "r2", key },
  });
}

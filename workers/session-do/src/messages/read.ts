/** Reading a session: pages, the recent window, the stream, one message. */
import { type Problem, problem } from "@sessionplane/shared/problem";
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
import { type Limits, take } from "@sessionplane/engine/history/recent-window";
import type { SessionStore } from "../session-store.ts";
import type { MediaBucket } from "./media-bucket.ts";

/** What a page or a window of a stream holds at most, unless one message alone is larger. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const MAX_STREAM_ROWS = 200;
/** More than the API asks for; what is sent beside the content stays small. */
const MAX_PAGE_ROWS = 1_000;

const NOT_FOUND = problem("not_found", "There is nothing at this path.");

/** Characters of base64 for so many bytes. */
const inBase64 = (bytes: number): number => Math.ceil(bytes / 3) * 4;

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
  planHistory(store.messages.pathTo(leaf), store.overlays.all(), view, order);

/** With attachments in place a message weighs what they weigh too. */
function* weighed(store: SessionStore, reads: Iterable<Read>): Generator<Read> {
  for (const read of reads) {
    const bytes = "overlay" in read ? 0 : inBase64(store.media.bytesOf(read.seq));
    yield bytes === 0 ? read : { ...read, bytes: read.bytes + bytes };
  }
}

function readsOf(store: SessionStore, plan: HistoryPlan, { attachments }: MediaQuery, after?: number): Iterable<Read> {
  const reads = readHistory(store.messages, plan, after);
  return attachments === "inline" ? weighed(store, reads) : reads;
}

/** The longest recent run within the limits, in the order asked for. */
function readWindow(store: SessionStore, leaf: number, query: HistoryQuery): { items: HistoryItem[]; truncated: boolean } {
  const limits: Limits = {
    count: Number.MAX_SAFE_INTEGER,
    bytes: Math.min(query.max_bytes ?? MAX_PAGE_BYTES, MAX_PAGE_BYTES),
    tokens: query.max_tokens ?? Number.MAX_SAFE_INTEGER,
  };
  const { taken, more } = take(readsOf(store, planOf(store, leaf, { ...query, order: "desc" }), query), limits);
  const items = toItems(store.messages, taken, "desc");
  return { items: query.order === "desc" ? items : items.reverse(), truncated: more };
}

function readPage(store: SessionStore, leaf: number, query: HistoryQuery): { items: HistoryItem[]; next: HistoryPlace | null } {
  const count = Math.min(Math.max(1, query.limit), MAX_PAGE_ROWS);
  const limits: Limits = { count, bytes: MAX_PAGE_BYTES, tokens: Number.MAX_SAFE_INTEGER };
  const { taken, more } = take(readsOf(store, planOf(store, leaf, query), query, query.after?.seq), limits);
  const last = taken.at(-1);
  const next = more && last !== undefined ? { leaf, seq: placeAfter(last, query.order) } : null;
  return { items: toItems(store.messages, taken, query.order), next };
}

export function readMessages(store: SessionStore, query: HistoryQuery): Result<HistoryPage, Problem> {
  const leaf = leafOf(store, query);
  if (!leaf.ok) return leaf;
  const whole = {
    leaf_id: store.messages.idOf(store.messages.nearest(leaf.value)),
    total_content_bytes: store.messages.totalsTo(leaf.value).bytes,
  };
  if (query.max_bytes !== undefined || query.max_tokens !== undefined) {
    return ok({ ...whole, ...readWindow(store, leaf.value, query), next: null });
  }
  return ok({ ...whole, ...readPage(store, leaf.value, query), truncated: false });
}

async function inlineAll(store: SessionStore, reads: readonly Read[], bucket: MediaBucket): Promise<Read[]> {
  const inlined: Read[] = [];
  for (const read of reads) inlined.push("overlay" in read ? read : await bucket.inline(store, read, read.seq));
  return inlined;
}

/** The page with attachments in place. */
export async function inlinePage(store: SessionStore, page: HistoryPage, bucket: MediaBucket): Promise<HistoryPage> {
  const items: HistoryItem[] = [];
  for (const item of page.items) items.push(await bucket.inline(store, item, item.meta.seq));
  return { ...page, items };
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
  const plan = planOf(store, leaf.value, query);
  const limits: Limits = { count: MAX_STREAM_ROWS, bytes: MAX_PAGE_BYTES, tokens: Number.MAX_SAFE_INTEGER };
  const encoder = new TextEncoder();
  let after: number | undefined;
  const stream = new ReadableStream({
    type: "bytes",
    async pull(controller: ReadableByteStreamController) {
      const { taken, more } = take(readsOf(store, plan, query, after), limits);
      const last = taken.at(-1);
      if (last !== undefined) after = placeAfter(last, query.order);
      const lines = query.attachments === "inline" ? await inlineAll(store, taken, bucket) : taken;
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
  const types = store.media.refsTo(query.id).map((ref) => ref.mediaType);
  const [first] = types;
  if (stored === null || first === undefined) return err(NOT_FOUND);
  const { bytes, sha256, r2_key: key } = stored;
  const content = key === null ? store.media.content(query.id) : null;
  return ok({
    media_type: types.includes(query.media_type) ? query.media_type : first,
    bytes,
    sha256,
    content: key === null ? { kind: "bytes", bytes: content ?? new Uint8Array() } : { kind: "r2", key },
  });
}

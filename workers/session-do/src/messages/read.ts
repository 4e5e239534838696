/** Reading a session: pages, the recent window, the stream, one message. */
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type {
  HistoryItem,
  HistoryPage,
  HistoryPlace,
  HistoryQuery,
  StoredMessage,
  StreamQuery,
} from "@sessionplane/shared/rpc/session-rpc";
import {
  type HistoryPlan,
  messageMeta,
  placeAfter,
  planHistory,
  readHistory,
  toItems,
} from "@sessionplane/engine/history/read-history";
import { type Limits, take } from "@sessionplane/engine/history/recent-window";
import type { SessionStore } from "../session-store.ts";

/** What a page or a window of a stream holds at most, unless one message alone is larger. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const MAX_STREAM_ROWS = 200;
/** More than the API asks for; what is sent beside the content stays small. */
const MAX_PAGE_ROWS = 1_000;

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

/** The longest recent run within the limits, in the order asked for. */
function readWindow(store: SessionStore, leaf: number, query: HistoryQuery): { items: HistoryItem[]; truncated: boolean } {
  const limits: Limits = {
    count: Number.MAX_SAFE_INTEGER,
    bytes: Math.min(query.max_bytes ?? MAX_PAGE_BYTES, MAX_PAGE_BYTES),
    tokens: query.max_tokens ?? Number.MAX_SAFE_INTEGER,
  };
  const { taken, more } = take(readHistory(store.messages, planOf(store, leaf, { ...query, order: "desc" })), limits);
  const items = toItems(store.messages, taken, "desc");
  return { items: query.order === "desc" ? items : items.reverse(), truncated: more };
}

function readPage(store: SessionStore, leaf: number, query: HistoryQuery): { items: HistoryItem[]; next: HistoryPlace | null } {
  const count = Math.min(Math.max(1, query.limit), MAX_PAGE_ROWS);
  const limits: Limits = { count, bytes: MAX_PAGE_BYTES, tokens: Number.MAX_SAFE_INTEGER };
  const { taken, more } = take(readHistory(store.messages, planOf(store, leaf, query), query.after?.seq), limits);
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

/** NDJSON, a window at a time: the next is read when the last was taken, so nothing piles up. */
export function streamMessages(store: SessionStore, query: StreamQuery): Result<ReadableStream<Uint8Array>, Problem> {
  const leaf = leafOf(store, query);
  if (!leaf.ok) return leaf;
  const plan = planOf(store, leaf.value, query);
  const limits: Limits = { count: MAX_STREAM_ROWS, bytes: MAX_PAGE_BYTES, tokens: Number.MAX_SAFE_INTEGER };
  const encoder = new TextEncoder();
  let after: number | undefined;
  const stream = new ReadableStream({
    type: "bytes",
    pull(controller: ReadableByteStreamController) {
      const { taken, more } = take(readHistory(store.messages, plan, after), limits);
      if (taken.length > 0) controller.enqueue(encoder.encode(taken.map((read) => `${read.json}\n`).join("")));
      const last = taken.at(-1);
      if (last !== undefined) after = placeAfter(last, query.order);
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
  if (read === null) return err(problem("not_found", "There is nothing at this path."));
  const meta = messageMeta(read, store.messages.parentOf(read.seq)?.id ?? null);
  return ok({ json: read.json, meta, version: store.messages.versionOf(read.seq) });
}

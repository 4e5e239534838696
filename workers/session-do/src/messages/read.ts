/** Reads of the session's messages: a page, a stream, one. */
import { formatInstant } from "@sessionplane/shared/fields";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { HistoryItem, HistoryPage, HistoryQuery, StreamQuery } from "@sessionplane/shared/rpc/session-rpc";
import { type HistoryPlan, itemOf, planHistory, readHistory } from "@sessionplane/engine/history/read-history";
import { type Limits, take } from "@sessionplane/engine/history/recent-window";
import type { SessionStore } from "../session-store.ts";
import { leafId } from "./append.ts";

/** What a page or a window of a stream holds at most, unless one message alone is larger. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;
const MAX_STREAM_ROWS = 200;
/** More than the API asks for; what is sent beside the content stays small. */
const MAX_PAGE_ROWS = 1_000;

/** The leaf to read to; 0 in an empty session. */
function leafOf(store: SessionStore, id: string | undefined): Result<number, Problem> {
  if (id === undefined) return ok(store.activeLeaf());
  const seq = store.messages.seqOf(id);
  if (seq !== null) return ok(seq);
  const message = `${id} is not a message of this session`;
  return err(problem("unknown_leaf", message, { errors: [{ pointer: "?leaf_id", code: "unknown_leaf", message }] }));
}

const planOf = (store: SessionStore, leaf: number, query: StreamQuery): HistoryPlan =>
  planHistory(leaf === 0 ? [] : store.messages.pathTo(leaf), store.overlays.all(), query.view, query.order);

const reader = (store: SessionStore, plan: HistoryPlan, after: number | undefined) => readHistory(store.messages, plan, after);

/** The longest recent run within the limits, in the order asked for. */
function readWindow(store: SessionStore, leaf: number, query: HistoryQuery): { items: HistoryItem[]; truncated: boolean } {
  const limits: Limits = {
    count: Number.MAX_SAFE_INTEGER,
    bytes: Math.min(query.max_bytes ?? MAX_PAGE_BYTES, MAX_PAGE_BYTES),
    tokens: query.max_tokens ?? Number.MAX_SAFE_INTEGER,
  };
  const { taken, more } = take(reader(store, planOf(store, leaf, { ...query, order: "desc" }), undefined), limits);
  const items = taken.map(itemOf);
  return { items: query.order === "desc" ? items : items.reverse(), truncated: more };
}

function readPage(store: SessionStore, leaf: number, query: HistoryQuery): { items: HistoryItem[]; next: number | null } {
  const count = Math.min(Math.max(1, query.limit), MAX_PAGE_ROWS);
  const limits: Limits = { count, bytes: MAX_PAGE_BYTES, tokens: Number.MAX_SAFE_INTEGER };
  const { taken, more } = take(reader(store, planOf(store, leaf, query), query.after_seq), limits);
  return { items: taken.map(itemOf), next: more ? (taken.at(-1)?.resumeAfter ?? null) : null };
}

export function readMessages(store: SessionStore, query: HistoryQuery): Result<HistoryPage, Problem> {
  const leaf = leafOf(store, query.leaf_id);
  if (!leaf.ok) return leaf;
  const whole = {
    leaf_id: leafId(store, leaf.value),
    total_content_bytes: leaf.value === 0 ? 0 : store.messages.meta(leaf.value).path_bytes,
  };
  if (query.max_bytes !== undefined || query.max_tokens !== undefined) {
    return ok({ ...whole, ...readWindow(store, leaf.value, query), next_seq: null });
  }
  const { items, next } = readPage(store, leaf.value, query);
  return ok({ ...whole, items, truncated: false, next_seq: next });
}

/** NDJSON, a window at a time: the next is read when the last was taken, so nothing piles up. */
export function streamMessages(store: SessionStore, query: StreamQuery): Result<ReadableStream<Uint8Array>, Problem> {
  const leaf = leafOf(store, query.leaf_id);
  if (!leaf.ok) return leaf;
  const plan = planOf(store, leaf.value, query);
  const limits: Limits = { count: MAX_STREAM_ROWS, bytes: MAX_PAGE_BYTES, tokens: Number.MAX_SAFE_INTEGER };
  const encoder = new TextEncoder();
  let after: number | undefined;
  const stream = new ReadableStream({
    type: "bytes",
    pull(controller: ReadableByteStreamController) {
      const { taken, more } = take(reader(store, plan, after), limits);
      if (taken.length > 0) controller.enqueue(encoder.encode(taken.map((read) => `${read.json}\n`).join("")));
      after = taken.at(-1)?.resumeAfter;
      if (!more) {
        controller.close();
        // A byte stream that is closed while it is pulled must be told that nothing comes.
        controller.byobRequest?.respond(0);
      }
    },
  });
  return ok(stream);
}

export function readMessage(store: SessionStore, id: string): Result<HistoryItem, Problem> {
  const row = store.messages.find(id);
  if (row === null) return err(problem("not_found", "There is nothing at this path."));
  const meta = {
    id,
    parent_id: store.messages.parentOf(row.seq)?.id ?? null,
    seq: row.seq,
    token_estimate: row.tokens,
    bytes: row.bytes,
    created_at: formatInstant(row.created_at),
  };
  return ok({ json: row.json, meta });
}

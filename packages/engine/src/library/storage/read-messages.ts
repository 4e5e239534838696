/** Reading the messages of a session, a window at a time. */
import { type HistoryPlan, type Read, placeAfter, planHistory, readHistory } from "../../history/read-history.ts";
import { type Limits, MAX_PAGE_BYTES, take } from "../../history/recent-window.ts";
import { base64Length } from "../../messages/media.ts";
import type { HistoryOptions, HistoryRowStats, RecentHistory, RecentHistoryOptions, Weighed } from "../conversation.ts";
import { SessionError, unknownMessage } from "../session-error.ts";
import { type SessionMessage, toSessionMessage } from "../session-message.ts";
import { restore } from "./draft-message.ts";
import type { SessionTables } from "./session-tables.ts";

const ANY_NUMBER = Number.MAX_SAFE_INTEGER;
/** What memory holds of a path at once, at most. The first window is small: who looks for one message mostly stops there. */
const MAX_WINDOW_COUNT = 200;
const FIRST_WINDOW_COUNT = 8;
const WINDOW_GROWTH = 4;

const windowOf = (count: number): Limits => ({ count, bytes: MAX_PAGE_BYTES, tokens: ANY_NUMBER });

export const unknownLeaf = (id: string): SessionError =>
  new SessionError("unknown_leaf", `${id} is not a message of this session`);

/** The leaf to read to; 0 in an empty session. */
export function leafOf(tables: SessionTables, leafId: string | undefined): number {
  const seq = leafId === undefined ? tables.messages.activeLeaf() : tables.messages.seqOf(leafId);
  if (seq === null) throw unknownLeaf(leafId ?? "");
  return seq;
}

/** A message weighs what its media weigh too. */
function* weighed(tables: SessionTables, reads: Iterable<Read>): Generator<Read> {
  const hasMedia = !tables.media.isEmpty();
  for (const read of reads) {
    const bytes = !hasMedia || "overlay" in read ? 0 : base64Length(tables.media.bytesOf(read.seq));
    yield bytes === 0 ? read : { ...read, bytes: read.bytes + bytes };
  }
}

const show = (tables: SessionTables, read: Read): SessionMessage =>
  toSessionMessage("overlay" in read ? JSON.parse(read.json) : restore(tables.media, read));

export function readOne(tables: SessionTables, seq: number | null): SessionMessage | null {
  const id = seq === null ? null : tables.messages.idOf(seq);
  const read = id === null ? null : tables.messages.find(id);
  return read === null ? null : show(tables, read);
}

const planFor = (tables: SessionTables, leaf: number, order: HistoryPlan["order"]): HistoryPlan =>
  planHistory(tables.messages.pathTo(leaf), { overlays: tables.overlays.all(), masks: tables.skills.masks() }, "history", order);

/** The path in windows. Writes may come between two of them: each is planned anew, from where the last one ended. */
export function* readWindows(tables: SessionTables, { leafId, newestFirst, signal }: HistoryOptions): Generator<Weighed[]> {
  const order = newestFirst === true ? "desc" : "asc";
  const leaf = leafOf(tables, leafId);
  let after: number | undefined;
  let count = FIRST_WINDOW_COUNT;
  for (let more = true; more; count = Math.min(count * WINDOW_GROWTH, MAX_WINDOW_COUNT)) {
    signal?.throwIfAborted();
    const window = take(weighed(tables, readHistory(tables.messages, planFor(tables, leaf, order), after)), windowOf(count));
    const last = window.taken.at(-1);
    more = window.more;
    if (last === undefined) return;
    after = placeAfter(last, order);
    yield window.taken.map((read) => ({ message: show(tables, read), bytes: read.bytes }));
  }
}

export function readRecent(tables: SessionTables, maxBytes: number, options: RecentHistoryOptions): RecentHistory {
  const leaf = leafOf(tables, options.leafId);
  const plan = planFor(tables, leaf, "desc");
  const reads = () => weighed(tables, readHistory(tables.messages, plan));
  let window = take(reads(), { count: ANY_NUMBER, bytes: maxBytes, tokens: ANY_NUMBER });
  const floor = options.minRecentMessages ?? 1;
  if (window.more && window.taken.length < floor) window = take(reads(), { count: floor, bytes: ANY_NUMBER, tokens: ANY_NUMBER });
  const media = [...tables.mediaOn(plan.path).values()].reduce((sum, bytes) => sum + base64Length(bytes), 0);
  return {
    messages: window.taken.map((read) => show(tables, read)).reverse(),
    truncated: window.more,
    totalContentBytes: tables.messages.totalsTo(leaf).bytes + media,
  };
}

/** Of the messages themselves, those that a compaction stands for among them. */
export function readStats(tables: SessionTables, leafId: string | undefined): HistoryRowStats[] {
  const path = tables.messages.pathTo(leafOf(tables, leafId));
  const media = tables.mediaOn(path);
  return Array.from(tables.messages.scanMeta(path), ({ seq, id, role, bytes, tokens }) => ({
    id,
    role,
    bytes: bytes + base64Length(media.get(seq) ?? 0),
    tokenEstimate: tokens,
  }));
}

export function readBranches(tables: SessionTables, id: string): SessionMessage[] {
  const parent = tables.messages.seqOf(id);
  if (parent === null) throw unknownMessage(id);
  return tables.messages.childrenOf(parent).flatMap((seq) => readOne(tables, seq) ?? []);
}

export const pathLength = (tables: SessionTables, leafId: string | undefined): number =>
  tables.messages.countOn(tables.messages.pathTo(leafOf(tables, leafId)));

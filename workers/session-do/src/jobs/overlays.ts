/** The session's summaries, by hand: looked at, written, taken back. */
import { newId } from "@sessionplane/shared/ids";
import type { Overlay } from "@sessionplane/shared/overlay";
import { NOT_FOUND, type Problem, fieldProblem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { AddOverlay } from "@sessionplane/shared/rpc/compaction-rpc";
import type { Idempotency, SeqPage, SeqQuery, Written } from "@sessionplane/shared/rpc/session-rpc";
import { type NewOverlay, type StoredOverlay, toOverlay } from "@sessionplane/engine/storage/sqlite/overlays";
import { overlayTokens } from "@sessionplane/engine/history/overlay-message";
import { type Range, contains, within } from "@sessionplane/engine/tree/runs";
import { checkOpen } from "../messages/write-checks.ts";
import { seqPage } from "../seq-page.ts";
import type { SessionStore } from "../session-store.ts";

const show = (store: SessionStore, overlay: StoredOverlay): Overlay =>
  toOverlay(overlay, overlay.job_id === null ? null : store.ledger.billedForJob(overlay.job_id));

export function getOverlay(store: SessionStore, id: string): Result<Overlay, Problem> {
  const overlay = store.overlays.find(id);
  return overlay === undefined ? err(NOT_FOUND) : ok(show(store, overlay));
}

export function listOverlays(store: SessionStore, query: SeqQuery): SeqPage<Overlay> {
  const { limit, before_seq: before = Number.MAX_SAFE_INTEGER } = query;
  const newestFirst = store.overlays.all().filter((overlay) => overlay.seq < before);
  return seqPage(newestFirst.toReversed(), limit, (overlay) => show(store, overlay));
}

type Told = Omit<NewOverlay, "retention">;

/** What a listener is told; the log's number of it also brings the new sums to the catalog. */
function note(store: SessionStore, seq: number, overlay: Told, more: object): void {
  const { id, from_id, to_id, messages, tokens_before, tokens_after } = overlay;
  store.events.note(seq, "compact", { overlay_id: id, from_id, to_id, messages, tokens_before, tokens_after, ...more });
  store.noteRewritten();
}

/** In the transaction of whoever has the summary. */
export function placeOverlay(store: SessionStore, overlay: NewOverlay): void {
  store.overlays.insert(overlay);
  note(store, overlay.seq, overlay, {});
}

/** The messages that it stands for show again. In the transaction of whoever takes it back. */
export function takeBackOverlay(store: SessionStore, overlay: StoredOverlay): void {
  store.overlays.delete(overlay.id);
  note(store, store.sequence.next(), overlay, { reverted: true });
}

/** Whether a call and one of its results are on different sides of an end. Looks at the calls of the path alone. */
function splitsCall(store: SessionStore, path: readonly Range[], from: number, to: number): boolean {
  const inside = new Set<string>();
  const outside = new Set<string>();
  for (const { seq, call_ids: ids } of store.messages.scanMeta(path)) {
    if (ids === null) continue;
    const side = from <= seq && seq <= to ? inside : outside;
    for (const id of JSON.parse(ids) as string[]) side.add(id);
  }
  return [...inside].some((id) => outside.has(id));
}

type Ends = { readonly from: number; readonly to: number };

/** The ends as places of one path, or which of them is none. */
function endsOf(store: SessionStore, { from_id: fromId, to_id: toId }: AddOverlay): Result<Ends, Problem> {
  const [from, to] = [store.messages.seqOf(fromId), store.messages.seqOf(toId)];
  if (from === null) return err(fieldProblem("unknown_message", "/from_id", `${fromId} is not a message of this session`));
  if (to === null) return err(fieldProblem("unknown_message", "/to_id", `${toId} is not a message of this session`));
  const path = store.messages.pathTo(to);
  if (from > to || !contains(path, from))
    return err(fieldProblem("invalid_range", "/from_id", `${fromId} is not on the path to ${toId}`));
  // On the way to any leaf: a result may hang below the range.
  const active = store.messages.pathTo(store.messages.activeLeaf());
  if (splitsCall(store, contains(active, to) ? active : path, from, to))
    return err(fieldProblem("invalid_range", "/to_id", "the range separates a tool call from one of its results"));
  return ok({ from, to });
}

function add(store: SessionStore, input: AddOverlay, now: number): Result<StoredOverlay, Problem> {
  const closed = checkOpen(store);
  if (closed !== null) return err(closed);
  const ends = endsOf(store, input);
  if (!ends.ok) return ends;
  const { from, to } = ends.value;
  const before = store.messages.parentOf(from)?.seq ?? 0;
  const overlay: NewOverlay = {
    seq: store.sequence.next(),
    id: newId("overlay"),
    from_seq: from,
    to_seq: to,
    from_id: input.from_id,
    to_id: input.to_id,
    summary: input.summary,
    messages: store.messages.countOn(within(store.messages.pathTo(to), from, to)),
    tokens_before: store.messages.totalsTo(to).tokens - store.messages.totalsTo(before).tokens,
    tokens_after: overlayTokens(input.summary),
    retention: null,
    model: null,
    job_id: null,
    created_at: now,
  };
  placeOverlay(store, overlay);
  const stored = store.overlays.find(overlay.id);
  if (stored === undefined) throw new Error("an overlay that was just written is not there");
  return ok(stored);
}

export function addOverlay(store: SessionStore, input: AddOverlay, now: number): Result<Written<Overlay>, Problem> {
  const effect = () => {
    const overlay = add(store, input, now);
    if (!overlay.ok) return overlay;
    // Without its summary, which may be long, and which the request has brought again.
    const { summary: _summary, ...receipt } = show(store, overlay.value);
    return ok({ reply: show(store, overlay.value), receipt: JSON.stringify(receipt) });
  };
  // As it was then, should it be gone since.
  const replay = (receipt: string): Overlay => ({ ...(JSON.parse(receipt) as Overlay), summary: input.summary });
  return store.atomically(() => store.keys.once(input.idempotency, now, effect, replay));
}

export function deleteOverlay(
  store: SessionStore,
  { overlay_id: id, idempotency }: { readonly overlay_id: string; readonly idempotency: Idempotency },
  now: number,
): Result<null, Problem> {
  const effect = () => {
    const overlay = store.overlays.find(id);
    if (overlay === undefined) return err(NOT_FOUND);
    const closed = checkOpen(store);
    if (closed !== null) return err(closed);
    takeBackOverlay(store, overlay);
    return ok({ reply: null, receipt: "" });
  };
  const done = store.atomically(() => store.keys.once(idempotency, now, effect, () => null));
  return done.ok ? ok(null) : done;
}

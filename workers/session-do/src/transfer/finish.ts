/** The second half of an import: the tree is made of the staged lines, whatever their order. */
import { messageSchema } from "@sessionplane/shared/message";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import type { FinishImport } from "@sessionplane/shared/rpc/session-rpc";
import { draftOf } from "@sessionplane/engine/messages/draft";
import { contains, within } from "@sessionplane/engine/tree/runs";
import { overlayTokens } from "@sessionplane/engine/history/overlay-message";
import { checkRoom } from "../messages/write-checks.ts";
import type { SessionStore } from "../session-store.ts";
import { atLine } from "./stage.ts";
import type { StagedLeftOut, StagedMessage, StagedOverlay, Staging } from "./staging.ts";

/** Thrown inside the import's transaction, so that all of it is rolled back; caught by who began it. */
export class ImportRefused extends Error {
  override readonly name = "ImportRefused";
  readonly refusal: Problem;

  constructor(refusal: Problem) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}

type Planting = { readonly store: SessionStore; readonly staging: Staging; readonly isOwn: boolean; readonly now: number };

function append({ store, staging, isOwn, now }: Planting, staged: StagedMessage, parent: number): void {
  const json = staging.jsonOf(staged.id);
  const left = JSON.parse(staged.left_out) as StagedLeftOut;
  const { unloaded: _unloaded, ...weights } = left;
  const draft = draftOf(messageSchema.parse(JSON.parse(json)), json, { ...weights, media: [] });
  const full = checkRoom(store, draft.bytes);
  if (full !== null) throw new ImportRefused(atLine(staged.line, full));
  const at = staged.created_at ?? now;
  const { seq } = store.messages.append(draft, parent, at);
  if (left.refs.length > 0) store.media.refer(seq, left.refs, now);
  if (draft.callIds === null) return;
  if (isOwn) return store.skills.restore(seq, draft.message, left.unloaded);
  store.skills.note(seq, draft.message, at);
  store.skills.hide(seq, left.unloaded);
}

/** Where a staged message hangs: null while its parent is not there yet. */
const parentOf = (store: SessionStore, { parent_id: id }: StagedMessage): number | null =>
  id === null ? 0 : store.messages.seqOf(id);

function refuseRest(staging: Staging, rest: readonly StagedMessage[]): never {
  const orphan = rest.find(({ parent_id: id }) => id !== null && !staging.has(id));
  if (orphan !== undefined)
    throw new ImportRefused(
      atLine(orphan.line, fieldProblem("unknown_parent", "/parent_id", `${orphan.parent_id} is on no line of the import`)),
    );
  const [first] = rest;
  throw new ImportRefused(
    atLine(first?.line ?? 0, fieldProblem("broken_tree", "/parent_id", "the messages hang below each other in a circle")),
  );
}

/** Appends every staged message below its parent: as they were written, else as soon as the parent is there. */
function plantMessages(planting: Planting): number {
  const { store, staging } = planting;
  let waiting: StagedMessage[] = [];
  let planted = 0;
  const plant = (staged: StagedMessage, parent: number) => {
    append(planting, staged, parent);
    planted += 1;
  };
  for (const staged of staging.inOrder()) {
    const parent = parentOf(store, staged);
    if (parent === null) waiting.push(staged);
    else plant(staged, parent);
  }
  const ready = waiting.filter((staged) => parentOf(store, staged) !== null).toReversed();
  for (let staged = ready.pop(); staged !== undefined; staged = ready.pop()) {
    const parent = parentOf(store, staged);
    if (parent === null || store.messages.seqOf(staged.id) !== null) continue;
    plant(staged, parent);
    ready.push(...staging.childrenOf(staged.id).toReversed());
  }
  waiting = waiting.filter((staged) => store.messages.seqOf(staged.id) === null);
  if (waiting.length > 0) refuseRest(staging, waiting);
  return planted;
}

function layOverlay(store: SessionStore, { line, overlay }: StagedOverlay): void {
  const [from, to] = [store.messages.seqOf(overlay.from_id), store.messages.seqOf(overlay.to_id)];
  const path = to === null ? [] : store.messages.pathTo(to);
  if (from === null || to === null || from > to || !contains(path, from))
    throw new ImportRefused(
      atLine(line, fieldProblem("unknown_message", "/overlay", "its ends are no messages of one path, in order")),
    );
  const covered = within(path, from, to);
  const before = store.messages.parentOf(from)?.seq ?? 0;
  store.overlays.insert({
    seq: store.sequence.next(),
    id: overlay.id,
    from_seq: from,
    to_seq: to,
    from_id: overlay.from_id,
    to_id: overlay.to_id,
    summary: overlay.summary,
    messages: store.messages.countOn(covered),
    tokens_before: store.messages.totalsTo(to).tokens - store.messages.totalsTo(before).tokens,
    tokens_after: overlayTokens(overlay.summary),
    retention: overlay.retention,
    model: overlay.model,
    job_id: null,
    created_at: Date.parse(overlay.created_at),
  });
  if (overlay.stale) store.overlays.markStale(overlay.id, 0);
}

/** In the transaction that makes the session. Throws `ImportRefused`. */
export function plant(
  store: SessionStore,
  staging: Staging,
  { leaf_id: leafId, is_own: isOwn }: Pick<FinishImport, "leaf_id" | "is_own">,
  now: number,
): { readonly messages: number; readonly overlays: number } {
  const messages = plantMessages({ store, staging, isOwn, now });
  const overlays = staging.overlays();
  for (const overlay of overlays) layOverlay(store, overlay);
  const leaf = leafId === null ? store.messages.activeLeaf() : store.messages.seqOf(leafId);
  if (leaf === null) throw new ImportRefused(problem("unknown_leaf", `${leafId} is on no line of the import.`));
  if (leaf !== 0) store.messages.choose(leaf, now);
  staging.clear();
  store.events.note(store.sequence.next(), "import", { messages, overlays: overlays.length });
  return { messages, overlays: overlays.length };
}

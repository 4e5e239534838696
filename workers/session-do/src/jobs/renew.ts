/**
 * Writing a summary again: because someone asks for it, because a message that it stands for was edited, or
 * because one was deleted and the summary had to go. Until the new one is there the old one stands, or the
 * messages do. Plans only: who calls it queues the job.
 */
import type { CompactionPolicy } from "@sessionplane/shared/compaction-policy";
import { summarySize } from "@sessionplane/engine/compaction/summary-size";
import { standing } from "@sessionplane/engine/history/apply-overlays";
import type { StoredOverlay } from "@sessionplane/engine/storage/sqlite/overlays";
import { type Range, contains, within } from "@sessionplane/engine/tree/runs";
import type { SessionStore } from "../session-store.ts";
import type { JobRange, NewJob } from "./queue-job.ts";

/** Overlays inside a range that a new summary of it can go on from. */
function feedsFor(store: SessionStore, path: readonly Range[], except: string | null): string[] {
  const usable = store.overlays.all().filter(({ id, stale, from_seq: from, to_seq: to }) => {
    return id !== except && stale === 0 && contains(path, from) && contains(path, to);
  });
  return standing(usable, path).map(({ id }) => id);
}

/** What of a range is left, as the range of a job; null when that is nothing. `path`: to its last message. */
function rangeOf(store: SessionStore, { from_seq: from, to_seq: to }: Ends, feeds: Feeds): JobRange | null {
  const path = within(store.messages.pathTo(store.messages.nearest(to)), from, to);
  const rows = [...store.messages.scanMeta(path)];
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return null;
  return {
    fromId: first.id,
    fromSeq: first.seq,
    toId: last.id,
    toSeq: last.seq,
    messages: rows.length,
    tokens: rows.reduce((sum, { tokens }) => sum + tokens, 0),
    feeds: feeds.from === "originals" ? [] : feedsFor(store, path, feeds.except),
  };
}

type Ends = { readonly from_seq: number; readonly to_seq: number };
/** What the new summary is made of: the messages alone, or earlier summaries too where they hold. */
type Feeds = { readonly from: "originals" } | { readonly from: "earlier"; readonly except: string | null };

/** Whether it is what is read on the path to its end. Another may have taken its place. */
export const isStanding = (store: SessionStore, overlay: StoredOverlay): boolean =>
  standing(store.overlays.all(), store.messages.pathTo(overlay.to_seq)).some(({ id }) => id === overlay.id);

/** The overlay again, of its messages. Null: none of them is left, or the new one would not be read either. */
export function rerunOf(
  store: SessionStore,
  overlay: StoredOverlay,
  policy: CompactionPolicy,
  instructions: string | null,
): NewJob | null {
  const range = isStanding(store, overlay) ? rangeOf(store, overlay, { from: "originals" }) : null;
  return range && { range, leafSeq: overlay.to_seq, policy, trigger: "rerun", renews: overlay.id, instructions };
}

/** A model's, or the plane's own: written by nobody, so that it may be written again. */
const isMade = ({ model }: StoredOverlay): boolean => model !== null;

/** One that is read on the active path, was made by a job and has a message edited under it. Whoever wrote one renews it. */
export function staleOverlay(store: SessionStore): StoredOverlay | undefined {
  const overlays = store.overlays.all();
  const isDue = (one: StoredOverlay) => one.stale === 1 && isMade(one);
  if (!overlays.some(isDue)) return undefined;
  return standing(overlays, store.messages.pathTo(store.messages.activeLeaf())).find(isDue);
}

export function renewalOfStale(store: SessionStore, policy: CompactionPolicy): NewJob | null {
  const overlay = staleOverlay(store);
  if (overlay === undefined) return null;
  const range = rangeOf(store, overlay, { from: "earlier", except: overlay.id });
  return range && { range, leafSeq: overlay.to_seq, policy, trigger: "renewal", renews: overlay.id };
}

/** What is left of a range whose overlay is gone, where a summary of the size aimed at still gains enough. */
export function renewalOfRange(store: SessionStore, ends: Ends, policy: CompactionPolicy): NewJob | null {
  const range = rangeOf(store, ends, { from: "earlier", except: null });
  if (range === null) return null;
  const { target, most } = summarySize(policy, range.tokens);
  return target < most ? { range, leafSeq: range.toSeq, policy, trigger: "renewal" } : null;
}

/**
 * What a dropped overlay leaves. Only where a summary as large as the one that is gone would still gain enough:
 * a few short messages are read as they are.
 */
export function renewalOfDropped(store: SessionStore, dropped: StoredOverlay, policy: CompactionPolicy): NewJob | null {
  const range = isMade(dropped) ? rangeOf(store, dropped, { from: "earlier", except: null }) : null;
  if (range === null || range.tokens * (1 - policy.min_gain) < dropped.tokens_after) return null;
  return { range, leafSeq: range.toSeq, policy, trigger: "renewal" };
}

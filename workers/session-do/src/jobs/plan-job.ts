/** From a session's history to the range of a job. Reads only. */
import type { CompactionPolicy } from "@sessionplane/shared/compaction-policy";
import { type CompactionPlan, type PlanItem, planCompaction } from "@sessionplane/engine/compaction/plan";
import { segments, standing } from "@sessionplane/engine/history/apply-overlays";
import type { Range } from "@sessionplane/engine/tree/runs";
import type { SessionStore } from "../session-store.ts";

/** Most messages have none: they share this. */
const NO_CALLS: readonly string[] = [];
const callsOf = (json: string | null): readonly string[] => (json === null ? NO_CALLS : (JSON.parse(json) as string[]));

/** A list, not a generator: the plan looks at it several times, and it may be very long. */
function itemsOf(store: SessionStore, path: readonly Range[]): PlanItem[] {
  const items: PlanItem[] = [];
  const masks = store.skills.masks();
  const hiddenIn = (seq: number): number => (masks.has(seq) ? store.skills.savingIn(seq).tokens : 0);
  for (const segment of segments(path, standing(store.overlays.all(), path))) {
    if (segment.kind === "overlay") {
      const { id, from_id, to_id, from_seq, to_seq, messages, tokens_after } = segment.overlay;
      items.push({
        kind: "overlay",
        overlayId: id,
        fromId: from_id,
        toId: to_id,
        fromSeq: from_seq,
        toSeq: to_seq,
        messages,
        tokens: tokens_after,
      });
      continue;
    }
    for (const { id, seq, tokens, call_ids } of store.messages.scanMeta(segment.path))
      items.push({ kind: "message", id, seq, tokens: tokens - hiddenIn(seq), callIds: callsOf(call_ids) });
  }
  return items;
}

/** Messages of the path that came after its newest overlay was made; undefined when it has none. */
function messagesSinceLast(store: SessionStore, items: readonly PlanItem[], path: readonly Range[]): number | undefined {
  const newest = Math.max(0, ...standing(store.overlays.all(), path).map((overlay) => overlay.seq));
  return newest === 0 ? undefined : items.filter((item) => item.kind === "message" && item.seq > newest).length;
}

/** Reads the whole history to a leaf, without content. `items`: how many messages and overlays that was. */
export function planFor(
  store: SessionStore,
  leafSeq: number,
  policy: CompactionPolicy,
  force: boolean,
): { readonly plan: CompactionPlan; readonly items: number } {
  const path = store.messages.pathTo(leafSeq);
  const items = itemsOf(store, path);
  const since = messagesSinceLast(store, items, path);
  const plan = planCompaction(items, policy, {
    force,
    beside: store.prompt.tokens(),
    ...(since === undefined ? {} : { messagesSinceLast: since }),
  });
  return { plan: withoutStale(store, plan), items: items.length };
}

/** A summary whose messages have changed is no beginning for another: those messages are read again. */
function withoutStale(store: SessionStore, plan: CompactionPlan): CompactionPlan {
  if (plan.kind === "skip") return plan;
  const stale = new Set(store.overlays.all().flatMap((overlay) => (overlay.stale === 1 ? [overlay.id] : [])));
  return { ...plan, feeds: plan.feeds.filter((id) => !stale.has(id)) };
}

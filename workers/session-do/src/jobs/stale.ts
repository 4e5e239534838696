/**
 * A job whose session changes under it: whether its range still stands, and what comes in its place when it
 * does not. Called in the transaction of whoever finds it so.
 */
import { standing } from "@sessionplane/engine/history/apply-overlays";
import { contains, within } from "@sessionplane/engine/tree/runs";
import type { SessionStore } from "../session-store.ts";
import { type JobRow, feedsOf, policyOf, triggerOf } from "./job-store.ts";
import { planFor } from "./plan-job.ts";
import { type NewJob, plannedColumns, queueJob } from "./queue-job.ts";
import { renewalOfRange, renewalOfStale, rerunOf } from "./renew.ts";

/**
 * Whether the range still stands: its messages as they were, no overlay made across it since, and the overlays
 * still there that the summary goes on from or takes the place of.
 */
export function stillStands(store: SessionStore, job: JobRow): boolean {
  const path = store.messages.pathTo(job.leaf_seq);
  if (!contains(path, job.from_seq) || !contains(path, job.to_seq)) return false;
  if (store.messages.changedSince(within(path, job.from_seq, job.to_seq), job.planned_at)) return false;
  const overlays = store.overlays.all();
  const inside = standing(overlays, path).filter((one) => one.to_seq >= job.from_seq && one.from_seq <= job.to_seq);
  if (inside.some((one) => one.seq > job.planned_at)) return false;
  const needed = job.renews === null ? feedsOf(job) : [...feedsOf(job), job.renews];
  return needed.every((id) => overlays.some((one) => one.id === id));
}

const RANGE_CHANGED = JSON.stringify({ code: "range_changed", detail: "the range changed while it was summarised" });
const SESSION_ENDED = JSON.stringify({ code: "session_ended", detail: "the session has ended" });

const writeStale = (store: SessionStore, job: JobRow, now: number): JobRow =>
  store.jobs.write({ ...job, state: "stale", lease_until: null, error: RANGE_CHANGED }, now);

/** The messages are gone: so is what a compactor may be summarising. */
export function endOpenJob(store: SessionStore, now: number): void {
  const job = store.jobs.open();
  if (job !== null) writeStale(store, job, now);
}

/** The session has ended, and its summaries change as little as its messages. A compactor can write no more. */
export function cancelOpenJob(store: SessionStore, now: number): void {
  const job = store.jobs.open();
  if (job === null) return;
  store.jobs.write({ ...job, state: "cancelled", lease_until: null, fence: job.fence + 1, error: SESSION_ENDED }, now);
}

/** Where the branch that was planned for ends now: it may have grown, or lost its end. */
function leafNow(store: SessionStore, job: JobRow): number {
  const [planned, active] = [store.messages.nearest(job.leaf_seq), store.messages.activeLeaf()];
  return contains(store.messages.pathTo(active), planned) ? active : planned;
}

/** What was asked for, as the session is now; null when there is nothing left to do. */
function planAnew(store: SessionStore, job: JobRow): NewJob | null {
  const policy = policyOf(job);
  const trigger = triggerOf(job);
  if (trigger === "rerun") {
    const overlay = store.overlays.find(job.renews ?? "");
    return overlay === undefined ? null : rerunOf(store, overlay, policy, job.instructions);
  }
  if (trigger === "renewal") return job.renews === null ? renewalOfRange(store, job, policy) : renewalOfStale(store, policy);
  const leafSeq = leafNow(store, job);
  // The cooldown counts from a compaction; this one has compacted nothing.
  const { plan } = planFor(store, leafSeq, { ...policy, cooldown_messages: 0 }, trigger !== "automatic");
  return plan.kind === "compact" ? { range: plan, leafSeq, policy, trigger } : null;
}

/** A job whose range changed under it: over, and planned anew at once. */
export function endStale(store: SessionStore, job: JobRow, now: number): JobRow {
  const ended = writeStale(store, job, now);
  const next = planAnew(store, job);
  return next === null ? ended : store.jobs.markReplaced(ended, queueJob(store, next, now));
}

/** A job as it may be begun: planned again where its range has changed since. Null: it had to end instead. */
export function refreshed(store: SessionStore, job: JobRow, now: number): JobRow | null {
  if (stillStands(store, job)) return job;
  const next = planAnew(store, job);
  if (next !== null) return { ...job, ...plannedColumns(store, next) };
  writeStale(store, job, now);
  return null;
}

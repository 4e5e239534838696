/** What people do with compaction: ask for it, look at it, cancel it. */
import { compactionPolicySchema, layerPolicies } from "@sessionplane/shared/compaction-policy";
import type { CompactionJob } from "@sessionplane/shared/compaction-job";
import { NOT_FOUND, type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { Overlay } from "@sessionplane/shared/overlay";
import type { Idempotency, SeqPage, SeqQuery, TenantRules, Written } from "@sessionplane/shared/rpc/session-rpc";
import { calibratePolicy } from "@sessionplane/engine/tokens/calibrate";
import { toOverlay } from "@sessionplane/engine/storage/sqlite/overlays";
import { seqPage } from "../seq-page.ts";
import type { SessionStore } from "../session-store.ts";
import { type JobRow, toCompactionJob } from "./job-store.ts";
import { planFor, queueJob } from "./plan-job.ts";

export const showJob = (store: SessionStore, job: JobRow): CompactionJob =>
  toCompactionJob(store.row.session_id, job, store.ledger.billedForJob(job.id));

const WHY_NOT: Record<string, string> = {
  too_short: "The head and the tail that the policy keeps are all there is.",
  nothing_to_replace: "Between the head and the tail that the policy keeps there is nothing but what is summarised already.",
  min_gain: "A summary would gain less than the policy asks for.",
};

export function getJob(store: SessionStore, id: string): Result<CompactionJob, Problem> {
  const job = store.jobs.find(id);
  return job === null ? err(NOT_FOUND) : ok(showJob(store, job));
}

const replay = (store: SessionStore, id: string): CompactionJob => {
  const job = store.jobs.find(id);
  if (job === null) throw new Error("a job that was made is gone");
  return showJob(store, job);
};

/** The tenant's part was changed after the session's: each was fine beside what was there then. */
const contradiction = (issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined): Problem =>
  problem("invalid", `The compaction policies of tenant and session contradict: ${issue?.path.join(".")} ${issue?.message}.`);

type Request = { readonly leaf_id?: string; readonly rules: TenantRules; readonly idempotency?: Idempotency };

/** The open job, or a new one for the leaf. It also ends a suspension: someone has looked. */
function requested(store: SessionStore, input: Request, now: number): Result<JobRow, Problem> {
  const leaf = input.leaf_id === undefined ? store.messages.activeLeaf() : store.messages.seqOf(input.leaf_id);
  if (leaf === null) {
    const message = `${input.leaf_id} is not a message of this session`;
    return err(problem("unknown_leaf", message, { errors: [{ pointer: "/leaf_id", code: "unknown_leaf", message }] }));
  }
  const open = store.jobs.open();
  if (open !== null) return ok(open);
  const layered = compactionPolicySchema.safeParse(layerPolicies(input.rules.compaction, store.row.settings.compaction));
  if (!layered.success) return err(contradiction(layered.error.issues[0]));
  const policy = calibratePolicy(layered.data, store.row.calibration);
  const plan = leaf === 0 ? ({ kind: "skip", reason: "too_short" } as const) : planFor(store, leaf, policy, true).plan;
  if (plan.kind === "skip")
    return err(problem("nothing_to_compact", WHY_NOT[plan.reason] ?? plan.reason, { fields: { reason: plan.reason } }));
  if (store.row.failures > 0) store.save({ failures: 0 });
  return ok(queueJob(store, plan, leaf, policy, "manual", now));
}

export function requestCompaction(store: SessionStore, input: Request, now: number): Result<Written<CompactionJob>, Problem> {
  const effect = () => {
    const job = requested(store, input, now);
    return job.ok ? ok({ reply: showJob(store, job.value), receipt: job.value.id }) : job;
  };
  return store.atomically(() => store.keys.once(input.idempotency, now, effect, (id) => replay(store, id)));
}

export function cancelJob(
  store: SessionStore,
  input: { readonly job_id: string; readonly idempotency?: Idempotency },
  now: number,
): Result<Written<CompactionJob>, Problem> {
  const effect = () => {
    const job = store.jobs.find(input.job_id);
    if (job === null) return err(NOT_FOUND);
    if (job.state !== "queued" && job.state !== "running") return err(problem("job_not_open", `The job is ${job.state}.`));
    // The fence rises: a compactor that is at work on it can no longer write.
    const cancelled = store.jobs.write({ ...job, state: "cancelled", lease_until: null, fence: job.fence + 1 }, now);
    return ok({ reply: showJob(store, cancelled), receipt: job.id });
  };
  return store.atomically(() => store.keys.once(input.idempotency, now, effect, (id) => replay(store, id)));
}

export function listOverlays(store: SessionStore, query: SeqQuery): SeqPage<Overlay> {
  const { limit, before_seq: before = Number.MAX_SAFE_INTEGER } = query;
  const newestFirst = store.overlays.all().filter((overlay) => overlay.seq < before);
  return seqPage(newestFirst.toReversed(), limit, toOverlay);
}

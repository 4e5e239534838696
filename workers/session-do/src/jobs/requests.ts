/** What people do with compaction: ask for it, look at it, cancel it. */
import { type CompactionPolicy, compactionPolicySchema, layerPolicies } from "@sessionplane/shared/compaction-policy";
import type { CompactionJob } from "@sessionplane/shared/compaction-job";
import { NOT_FOUND, type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { RequestCompaction, RerunOverlay } from "@sessionplane/shared/rpc/compaction-rpc";
import type { Idempotency, TenantRules, Written } from "@sessionplane/shared/rpc/session-rpc";
import type { CompactionPlan } from "@sessionplane/engine/compaction/plan";
import { calibratePolicy } from "@sessionplane/engine/tokens/calibrate";
import { contains } from "@sessionplane/engine/tree/runs";
import { checkOpen } from "../messages/write-checks.ts";
import type { SessionStore } from "../session-store.ts";
import { type JobRow, toCompactionJob } from "./job-store.ts";
import { planFor } from "./plan-job.ts";
import { queueJob } from "./queue-job.ts";
import { isStanding, rerunOf } from "./renew.ts";
import { stillStands } from "./stale.ts";

export const showJob = (store: SessionStore, job: JobRow): CompactionJob =>
  toCompactionJob(store.row.session_id, job, store.ledger.billedForJob(job.id));

const WHY_NOT: Record<string, string> = {
  too_short: "The head and the tail that the policy keeps are all there is.",
  nothing_to_replace: "Between the head and the tail that the policy keeps there is nothing but what is summarised already.",
  min_gain: "A summary would gain less than the policy asks for.",
  superseded: "Another summary stands where this one did: run that one again.",
};

export function getJob(store: SessionStore, id: string): Result<CompactionJob, Problem> {
  const job = store.jobs.find(id);
  return job === null ? err(NOT_FOUND) : ok(showJob(store, job));
}

/** The job, or the one that came in its place when its range had changed. */
function replay(store: SessionStore, id: string): CompactionJob {
  const job = store.jobs.find(id);
  if (job === null) throw new Error("a job that was made is gone");
  return job.replaced_by === null ? showJob(store, job) : replay(store, job.replaced_by);
}

/** The tenant's part was changed after the session's: each was fine beside what was there then. */
const contradiction = (issue: { readonly path: readonly PropertyKey[]; readonly message: string } | undefined): Problem =>
  problem("invalid", `The compaction policies of tenant and session contradict: ${issue?.path.join(".")} ${issue?.message}.`);

const unknownLeaf = (id: string): Problem => {
  const message = `${id} is not a message of this session`;
  return problem("unknown_leaf", message, { errors: [{ pointer: "/leaf_id", code: "unknown_leaf", message }] });
};

type Asked = { readonly leaf: number; readonly policy: CompactionPolicy };

/** The leaf and the policy, as the session counts tokens. */
export function asked(
  store: SessionStore,
  { leaf_id: leafId, rules }: { readonly leaf_id?: string; readonly rules: TenantRules },
): Result<Asked, Problem> {
  const leaf = leafId === undefined ? store.messages.activeLeaf() : store.messages.seqOf(leafId);
  if (leaf === null) return err(unknownLeaf(leafId ?? ""));
  const layered = compactionPolicySchema.safeParse(layerPolicies(rules.compaction, store.row.settings.compaction));
  if (!layered.success) return err(contradiction(layered.error.issues[0]));
  return ok({ leaf, policy: calibratePolicy(layered.data, store.row.calibration) });
}

const TOO_SHORT = { kind: "skip", reason: "too_short" } as const;

export const planByHand = (store: SessionStore, { leaf, policy }: Asked): CompactionPlan =>
  leaf === 0 ? TOO_SHORT : planFor(store, leaf, policy, true).plan;

/** Of the tail, what is kept when a model has said that its input is too long: as asked, a quarter, the least. */
const TAIL_SHARES: readonly number[] = [1, 1 / 4, 0];

type Planned = { readonly plan: CompactionPlan; readonly policy: CompactionPolicy };

/** The first plan that there is. Each shortens the history, so that whoever asks again and again comes to an end. */
function planForOverflow(store: SessionStore, { leaf, policy }: Asked): Planned {
  for (const share of TAIL_SHARES) {
    const shorter = { ...policy, keep_recent_tokens: Math.floor(policy.keep_recent_tokens * share) };
    const plan = planByHand(store, { leaf, policy: shorter });
    if (plan.kind === "compact" || share === 0) return { plan, policy: shorter };
  }
  return { plan: TOO_SHORT, policy };
}

export const nothingToCompact = (reason: string): Problem =>
  problem("nothing_to_compact", WHY_NOT[reason] ?? reason, { fields: { reason } });

const jobOpen = ({ id }: JobRow): Problem =>
  problem("job_open", "Another job of this session is open.", { fields: { job_id: id } });

/** Whether a job's summary will stand on the path to a leaf. */
const isOn = (store: SessionStore, { from_seq: from, to_seq: to }: JobRow, leaf: number): boolean => {
  const path = store.messages.pathTo(leaf);
  return contains(path, from) && contains(path, to);
};

/** The open job of the leaf's path, or a new one. It also ends a suspension: someone has looked. */
function requested(store: SessionStore, input: RequestCompaction, now: number): Result<JobRow, Problem> {
  const found = asked(store, input);
  if (!found.ok) return found;
  const { leaf } = found.value;
  const open = store.jobs.open();
  if (open !== null) return isOn(store, open, leaf) ? ok(open) : err(jobOpen(open));
  const closed = checkOpen(store);
  if (closed !== null) return err(closed);
  const { plan, policy } =
    input.overflow === true
      ? planForOverflow(store, found.value)
      : { plan: planByHand(store, found.value), policy: found.value.policy };
  if (plan.kind === "skip") return err(nothingToCompact(plan.reason));
  if (store.row.failures > 0) store.save({ failures: 0 });
  const trigger = input.overflow === true ? "overflow" : "manual";
  return ok(queueJob(store, { range: plan, leafSeq: leaf, policy, trigger }, now));
}

/** A change of a job once a key, answered with the job. */
function changeJob(
  store: SessionStore,
  idempotency: Idempotency | undefined,
  now: number,
  change: () => Result<JobRow, Problem>,
): Result<Written<CompactionJob>, Problem> {
  const effect = () => {
    const job = change();
    return job.ok ? ok({ reply: showJob(store, job.value), receipt: job.value.id }) : job;
  };
  return store.atomically(() => store.keys.once(idempotency, now, effect, (id) => replay(store, id)));
}

export const requestCompaction = (store: SessionStore, input: RequestCompaction, now: number) =>
  changeJob(store, input.idempotency, now, () => requested(store, input, now));

type OfJob = { readonly job_id: string; readonly idempotency?: Idempotency };

export const cancelJob = (store: SessionStore, { job_id: id, idempotency }: OfJob, now: number) =>
  changeJob(store, idempotency, now, () => {
    const job = store.jobs.find(id);
    if (job === null) return err(NOT_FOUND);
    if (job.state !== "queued" && job.state !== "running") return err(problem("job_not_open", `The job is ${job.state}.`));
    // The fence rises: a compactor that is at work on it can no longer write.
    return ok(store.jobs.write({ ...job, state: "cancelled", lease_until: null, fence: job.fence + 1 }, now));
  });

const RANGE_CHANGED = problem("job_not_retriable", "The job's range has changed since: ask for a compaction anew.");
const RETRIABLE: readonly string[] = ["failed", "rejected", "cancelled"];

/** As it was planned. */
export const retryJob = (store: SessionStore, { job_id: id, idempotency }: OfJob, now: number) =>
  changeJob(store, idempotency, now, () => {
    const job = store.jobs.find(id);
    if (job === null) return err(NOT_FOUND);
    const closed = checkOpen(store);
    if (closed !== null) return err(closed);
    if (!RETRIABLE.includes(job.state)) return err(problem("job_not_retriable", `The job is ${job.state}.`));
    const open = store.jobs.open();
    if (open !== null) return err(jobOpen(open));
    if (!stillStands(store, job)) return err(RANGE_CHANGED);
    if (store.row.failures > 0) store.save({ failures: 0 });
    const again = { state: "queued", fence: job.fence + 1, lease_until: null, woken_at: null, error: null };
    return ok(store.jobs.write({ ...job, ...again, attempts: 0, rejections: 0, rejected_because: null }, now));
  });

export function rerunOverlay(store: SessionStore, input: RerunOverlay, now: number): Result<Written<CompactionJob>, Problem> {
  return changeJob(store, input.idempotency, now, () => {
    const overlay = store.overlays.all().find(({ id }) => id === input.overlay_id);
    if (overlay === undefined) return err(NOT_FOUND);
    const closed = checkOpen(store);
    if (closed !== null) return err(closed);
    const open = store.jobs.open();
    if (open !== null) return err(jobOpen(open));
    const found = asked(store, input);
    if (!found.ok) return found;
    const policy = input.model === undefined ? found.value.policy : { ...found.value.policy, model: input.model };
    if (!isStanding(store, overlay)) return err(nothingToCompact("superseded"));
    const job = rerunOf(store, overlay, policy, input.instructions ?? null);
    return job === null ? err(nothingToCompact("nothing_to_replace")) : ok(queueJob(store, job, now));
  });
}

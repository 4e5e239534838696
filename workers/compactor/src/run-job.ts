/**
 * One compaction job, from claim to commit, over the few things it needs: the order of the effects is this
 * file. What a call of the model used is passed on with whatever ends the attempt.
 */
import { summaryPrompt } from "@sessionplane/engine/compaction/prompt";
import { measureRetention, restoreFacts } from "@sessionplane/engine/compaction/retention";
import type { Entry } from "@sessionplane/engine/compaction/transcript";
import { summarySize } from "@sessionplane/engine/compaction/summary-size";
import { rejectionOf } from "@sessionplane/engine/compaction/validate";
import type { CompactionJob } from "@sessionplane/shared/compaction-job";
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { ClaimedJob, JobCommit, JobFailure, JobItem, JobRefusal } from "@sessionplane/shared/rpc/job-rpc";
import type { SeqPage } from "@sessionplane/shared/rpc/session-rpc";
import type { NewUsageEvent, PricedUsage } from "@sessionplane/shared/usage-event";
import { fold } from "./fold.ts";
import { persist } from "./persist.ts";
import { type Stop, stop, stopOf } from "./settle.ts";
import type { ModelAnswer, ModelCall, ModelFailure, ModelUsage } from "./summarise.ts";
import { unpricedUsage, usageEvents } from "./usage-events.ts";

/** Far below the job's lease, so that a range may take a few calls. */
const CALL_TIMEOUT_MS = 90_000;
/** Of the lease, for pricing and the commit. */
const LEASE_RESERVE_MS = 15_000;
/** No model writes a summary in less. */
const MIN_CALL_MS = 2_000;
/** A provider counts tokens otherwise than our estimate, and reasoning among them: only far more is cut off. */
const OUTPUT_ALLOWANCE = 2;

export type CompactionDeps = {
  claim(): Promise<Result<ClaimedJob, JobRefusal>>;
  /** The lease's new end. */
  renew(fence: number): Promise<Result<number, JobRefusal>>;
  /** What calls cost of a job that this compactor no longer holds. */
  record(usage: readonly PricedUsage[]): Promise<Result<null, JobRefusal>>;
  readRange(fence: number, afterSeq: number): Promise<Result<SeqPage<JobItem>, JobRefusal>>;
  commit(fence: number, commit: JobCommit): Promise<Result<CompactionJob, JobRefusal>>;
  fail(fence: number, failure: JobFailure): Promise<Result<CompactionJob, JobRefusal>>;
  /** The policy's model or the plane's. `call` is null when no provider has it. */
  model(asked: string | null): {
    readonly id: string;
    readonly call: ((call: ModelCall) => Promise<Result<ModelAnswer, ModelFailure>>) | null;
  };
  price(events: readonly NewUsageEvent[]): Promise<Result<readonly PricedUsage[], Problem>>;
  /** Something failed that ends nothing. */
  warn(event: string, error: unknown): void;
  nonce(): string;
  now(): number;
  readonly pause: (ms: number) => Promise<void>;
};

export type JobOutcome =
  | { readonly kind: "ended"; readonly state: CompactionJob["state"] }
  /** The job waits for another attempt. */
  | { readonly kind: "again"; readonly code: string }
  | { readonly kind: "refused"; readonly code: JobRefusal["code"] };

/** `leaseUntil` moves with every call of the model: a range may take more of them than one lease holds. */
type Attempt = { readonly job: ClaimedJob; readonly modelId: string; readonly used: ModelUsage[]; leaseUntil: number };

const refused = ({ code }: JobRefusal): JobOutcome => ({ kind: "refused", code });

const sizeOf = ({ policy, tokens }: ClaimedJob) => summarySize(policy, tokens);

/** One call of the model. A summary that may not stand ends the attempt; its usage is kept all the same. */
async function summarise(
  deps: CompactionDeps,
  attempt: Attempt,
  entries: readonly Entry[],
): Promise<Result<string, Stop | JobRefusal>> {
  const { job, used } = attempt;
  const { id, call } = deps.model(job.policy.model);
  if (call === null) return err(stop("fail", "unknown_model", `no provider has the model ${id}`));
  if (used.length > 0) {
    const renewed = await persist(deps.pause, () => deps.renew(job.fence));
    if (!renewed.ok) return renewed;
    attempt.leaseUntil = renewed.value;
  }
  const timeoutMs = Math.min(CALL_TIMEOUT_MS, attempt.leaseUntil - LEASE_RESERVE_MS - deps.now());
  if (timeoutMs < MIN_CALL_MS) return err(stop("retry", "lease_ran_out", "the calls of the model took longer than the lease"));
  const { target, most } = sizeOf(job);
  const prompt = summaryPrompt({
    entries,
    nonce: deps.nonce(),
    targetTokens: target,
    rejectedBecause: job.rejected_because,
    instructions: job.instructions,
  });
  const answer = await call({ prompt, targetTokens: target, maxOutputTokens: most * OUTPUT_ALLOWANCE, timeoutMs });
  if (!answer.ok) return err(stopOf(answer.error));
  const { text, finishReason, usage } = answer.value;
  used.push(usage);
  if (finishReason === "content-filter") return err(stop("fail", "model_refused", "the model refused the content"));
  const rejection = rejectionOf({ text, finishReason, maxTokens: most });
  return rejection === null ? ok(text.trim()) : err(stop("reject", "summary_rejected", rejection));
}

/** The attempt's calls, priced. A report that the catalog can't read is replaced by our own count. */
async function priced(deps: CompactionDeps, { job, modelId, used }: Attempt): Promise<readonly PricedUsage[]> {
  if (used.length === 0) return [];
  const reported = await persist(deps.pause, () => deps.price(usageEvents(job, modelId, used, "reported")));
  if (reported.ok) return reported.value;
  const estimated = await persist(deps.pause, () => deps.price(usageEvents(job, modelId, used, "estimated")));
  return estimated.ok ? estimated.value : unpricedUsage(job, modelId, used, deps.now());
}

/** The same when the catalog does not answer at all: a call that can't be priced now is still a call. */
async function billed(deps: CompactionDeps, attempt: Attempt): Promise<readonly PricedUsage[]> {
  try {
    return await priced(deps, attempt);
  } catch (error) {
    deps.warn("usage_unpriced", error);
    return unpricedUsage(attempt.job, attempt.modelId, attempt.used, deps.now());
  }
}

/** The job is no longer ours. What its calls cost is told all the same. */
async function giveUp(deps: CompactionDeps, attempt: Attempt, refusal: JobRefusal): Promise<JobOutcome> {
  const usage = await billed(deps, attempt);
  if (usage.length > 0) await persist(deps.pause, () => deps.record(usage));
  return refused(refusal);
}

async function end(deps: CompactionDeps, attempt: Attempt, { outcome, error }: Stop): Promise<JobOutcome> {
  const usage = await billed(deps, attempt);
  const failure = { outcome, error, model: attempt.modelId, usage };
  const failed = await persist(deps.pause, () => deps.fail(attempt.job.fence, failure));
  if (!failed.ok) return giveUp(deps, attempt, failed.error);
  const { state } = failed.value;
  return state === "queued" ? { kind: "again", code: error.code } : { kind: "ended", state };
}

/** Throws only when a part of the plane goes on not answering: the lease then runs out, and the job returns. */
export async function runJob(deps: CompactionDeps): Promise<JobOutcome> {
  const claimed = await deps.claim();
  if (!claimed.ok) return refused(claimed.error);
  const job = claimed.value;
  const { id: modelId } = deps.model(job.policy.model);
  const attempt: Attempt = { job, modelId, used: [], leaseUntil: job.lease_expires_at };

  const folded = await fold<JobRefusal | Stop>(
    (afterSeq) => persist(deps.pause, () => deps.readRange(job.fence, afterSeq)),
    (entries) => summarise(deps, attempt, entries),
  );
  if (!folded.ok) return "outcome" in folded.error ? end(deps, attempt, folded.error) : giveUp(deps, attempt, folded.error);
  if (folded.value === null) return end(deps, attempt, stop("fail", "empty_range", "the range holds nothing to summarise"));

  const { facts } = folded.value;
  const summary = restoreFacts(folded.value.summary, facts, job.policy.retention_floor, sizeOf(job).most);
  const retention = measureRetention(facts, summary);
  const usage = await billed(deps, attempt);
  const commit = { summary, model: attempt.modelId, retention, usage };
  const committed = await persist(deps.pause, () => deps.commit(job.fence, commit));
  return committed.ok ? { kind: "ended", state: committed.value.state } : giveUp(deps, attempt, committed.error);
}

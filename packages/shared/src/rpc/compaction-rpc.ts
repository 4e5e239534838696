/** What a session's object offers of its compaction: to people, and to compactors. Part of `SessionRpc`. */
import type { CompactionJob, CompactionPlanReply } from "../compaction-job.ts";
import type { JobId } from "../ids.ts";
import type { Overlay } from "../overlay.ts";
import type { Problem } from "../problem.ts";
import type { Result } from "../result.ts";
import type { PricedUsage } from "../usage-event.ts";
import type { ClaimedJob, JobCommit, JobFailure, JobItem, JobRefusal } from "./job-rpc.ts";
import type { Idempotency, SeqPage, SeqQuery, TenantRules, Written } from "./session-rpc.ts";

export type RequestCompaction = {
  readonly leaf_id?: string;
  readonly rules: TenantRules;
  readonly idempotency?: Idempotency;
  /** A model has said that its input is too long: less of the tail is kept when it must be. */
  readonly overflow?: boolean;
};

export type AddOverlay = {
  readonly summary: string;
  readonly from_id: string;
  readonly to_id: string;
  readonly idempotency: Idempotency;
};

export type RerunOverlay = {
  readonly overlay_id: string;
  readonly model?: string;
  readonly instructions?: string;
  readonly rules: TenantRules;
  readonly idempotency: Idempotency;
};

export interface CompactionRpc {
  requestCompaction(input: RequestCompaction): Promise<Result<Written<CompactionJob>, Problem>>;
  /** What a request would do. Changes nothing. */
  planCompaction(input: { leaf_id?: string; rules: TenantRules }): Promise<Result<CompactionPlanReply, Problem>>;
  /** A summary of the caller's own. */
  addOverlay(input: AddOverlay): Promise<Result<Written<Overlay>, Problem>>;
  getOverlay(id: string): Promise<Result<Overlay, Problem>>;
  /** What it stood for shows again: messages, or the summaries that it had gone on from. */
  deleteOverlay(input: { overlay_id: string; idempotency: Idempotency }): Promise<Result<null, Problem>>;
  rerunOverlay(input: RerunOverlay): Promise<Result<Written<CompactionJob>, Problem>>;
  listOverlays(query: SeqQuery): Promise<Result<SeqPage<Overlay>, Problem>>;
  listJobs(query: SeqQuery): Promise<Result<SeqPage<CompactionJob>, Problem>>;
  getJob(id: string): Promise<Result<CompactionJob, Problem>>;
  /** A job that failed is queued again. */
  retryJob(input: { job_id: string; idempotency?: Idempotency }): Promise<Result<Written<CompactionJob>, Problem>>;
  cancelJob(input: { job_id: string; idempotency?: Idempotency }): Promise<Result<Written<CompactionJob>, Problem>>;

  claimJob(id: JobId): Promise<Result<ClaimedJob, JobRefusal>>;
  readJobRange(id: JobId, fence: number, afterSeq: number): Promise<Result<SeqPage<JobItem>, JobRefusal>>;
  /** The compactor is still at it. The lease's new end. */
  renewLease(id: JobId, fence: number): Promise<Result<number, JobRefusal>>;
  /** What calls of a job cost whose compactor may write nothing else any more. */
  recordJobUsage(id: JobId, usage: readonly PricedUsage[]): Promise<Result<null, JobRefusal>>;
  /** Applied, or stale when the range no longer stands; a stale job is planned anew at once. */
  commitJob(id: JobId, fence: number, commit: JobCommit): Promise<Result<CompactionJob, JobRefusal>>;
  failJob(id: JobId, fence: number, failure: JobFailure): Promise<Result<CompactionJob, JobRefusal>>;
  /** The queue gave up on the job's wake-up. An open job ends as failed. */
  deadLetterJob(id: JobId): Promise<Result<CompactionJob, JobRefusal>>;
}

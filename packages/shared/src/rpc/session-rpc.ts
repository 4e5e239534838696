/**
 * What a session's object offers to `api` (through `session-client.ts`) and to the compactor. `SessionDO`
 * implements it. Every method answers with a Result; a throw is a broken object or platform.
 */
import type { CompactionJob } from "../compaction-job.ts";
import type { CompactionPolicy, CompactionPolicyPatch } from "../compaction-policy.ts";
import type { JobId, SessionId, TenantId } from "../ids.ts";
import type { Message, MessageMeta, Role, Source } from "../message.ts";
import type { Overlay, Retention } from "../overlay.ts";
import type { Problem } from "../problem.ts";
import type { Result } from "../result.ts";
import type { PatchSession, Session, SessionSettings, SessionUsage } from "../session.ts";
import type { PricedUsage, RecordedUsage, UsageEvent } from "../usage-event.ts";

/** A request's `Idempotency-Key`, hashed with method and path, and the hash of its body. */
export type Idempotency = { readonly key: string; readonly fingerprint: string };

/** The tenant's settings that rule a write. They travel with the call: the object keeps no copy. */
export type TenantRules = {
  readonly client_roles: readonly Role[];
  readonly reserved_metadata_keys: readonly string[];
  readonly compaction: CompactionPolicyPatch;
};

/** A write's reply, and whether it is that of an earlier request with the same idempotency key. */
export type Written<T> = { readonly value: T; readonly replayed: boolean };

export type OpenSession = {
  readonly tenant_id: TenantId;
  readonly session_id: SessionId;
  readonly settings: SessionSettings;
  readonly created_at: number;
  readonly rules: TenantRules;
};

export type AppendMessages = {
  /** In order; each after the first hangs below the one before it. */
  readonly messages: readonly Message[];
  /** Absent: the active leaf. Null: a new root. */
  readonly parent_id?: string | null;
  readonly source: Source;
  readonly rules: TenantRules;
  readonly idempotency?: Idempotency;
};

export type Appended = {
  readonly results: readonly { readonly id: string; readonly inserted: boolean; readonly message: Message }[];
  readonly leaf_id: string | null;
  readonly token_estimate: number;
  readonly compaction_job_id: string | null;
};

export type HistoryView = "history" | "raw";
export type HistoryOrder = "asc" | "desc";

export type HistoryQuery = {
  /** Absent: the active leaf. */
  readonly leaf_id?: string;
  readonly view: HistoryView;
  readonly order: HistoryOrder;
  readonly limit: number;
  /** Where the last page ended: the seq of its last message. */
  readonly after_seq?: number;
  /** The longest recent run that fits; the newest message is always in. */
  readonly max_bytes?: number;
  readonly max_tokens?: number;
};

/** A message as stored JSON, so that it is sent on without being parsed. */
export type HistoryItem = { readonly json: string; readonly meta: MessageMeta };

export type HistoryPage = {
  readonly items: readonly HistoryItem[];
  readonly leaf_id: string | null;
  /** A byte or token limit left older messages out. */
  readonly truncated: boolean;
  /** Of the whole path, in UTF-8 bytes of stored JSON, whatever the page or limit. */
  readonly total_content_bytes: number;
  /** The seq to go on after (in the order asked), null at the end. */
  readonly next_seq: number | null;
};

export type StreamQuery = Pick<HistoryQuery, "leaf_id" | "view" | "order">;

export type SeqPage<T> = { readonly items: readonly T[]; readonly next_seq: number | null };
export type SeqQuery = { readonly limit: number; readonly before_seq?: number };

export type UsageReading = { readonly usage: SessionUsage; readonly as_of: string };

/** What a compactor has claimed. `fence` rises with every claim; an older one can no longer write. */
export type ClaimedJob = {
  readonly job_id: JobId;
  readonly fence: number;
  readonly lease_expires_at: number;
  readonly attempt: number;
  readonly from_id: string;
  readonly to_id: string;
  readonly messages: number;
  readonly tokens: number;
  readonly policy: CompactionPolicy;
  /** Why the previous summary of this job was rejected, for the next prompt. */
  readonly rejected_because: string | null;
};

/** The range in order, with earlier overlays inside it as their summaries. */
export type JobItem =
  | { readonly kind: "message"; readonly message: Message; readonly tokens: number; readonly created_at: number }
  | { readonly kind: "overlay"; readonly overlay_id: string; readonly summary: string; readonly tokens: number };

export type JobRefusal = { readonly code: "not_found" | "not_open" | "leased" | "fence_lost"; readonly detail: string };

export type JobCommit = {
  readonly summary: string;
  readonly model: string;
  readonly retention: Retention | null;
  readonly usage: readonly PricedUsage[];
};

export type JobFailure = {
  /** retry: claimable again. reject: the summary was no good, one more try. fail: for good. */
  readonly outcome: "retry" | "reject" | "fail";
  readonly error: { readonly code: string; readonly detail: string };
  readonly model: string | null;
  readonly usage: readonly PricedUsage[];
};

export interface SessionRpc {
  /** Creates the session in its object. Idempotent: a second call changes nothing. */
  open(input: OpenSession): Promise<Result<Session, Problem>>;
  describe(rules: TenantRules): Promise<Result<Session, Problem>>;
  patch(input: {
    patch: PatchSession;
    if_match?: number;
    rules: TenantRules;
    idempotency?: Idempotency;
  }): Promise<Result<Written<Session>, Problem>>;
  end(input: { reason: string; rules: TenantRules; idempotency?: Idempotency }): Promise<Result<Written<Session>, Problem>>;

  append(input: AppendMessages): Promise<Result<Written<Appended>, Problem>>;
  readHistory(query: HistoryQuery): Promise<Result<HistoryPage, Problem>>;
  /** NDJSON, a message a line, in constant memory. */
  streamHistory(query: StreamQuery): Promise<Result<ReadableStream<Uint8Array>, Problem>>;
  getMessage(id: string): Promise<Result<HistoryItem, Problem>>;

  /** All in one transaction; per event created, duplicate or conflict. */
  recordUsage(input: {
    events: readonly PricedUsage[];
    idempotency?: Idempotency;
  }): Promise<Result<Written<readonly RecordedUsage[]>, Problem>>;
  readUsage(): Promise<Result<UsageReading, Problem>>;
  listUsageEvents(query: SeqQuery): Promise<Result<SeqPage<UsageEvent>, Problem>>;

  requestCompaction(input: {
    leaf_id?: string;
    rules: TenantRules;
    idempotency?: Idempotency;
  }): Promise<Result<Written<CompactionJob>, Problem>>;
  listOverlays(query: SeqQuery): Promise<Result<SeqPage<Overlay>, Problem>>;
  listJobs(query: SeqQuery): Promise<Result<SeqPage<CompactionJob>, Problem>>;
  getJob(id: string): Promise<Result<CompactionJob, Problem>>;
  cancelJob(input: { job_id: string; idempotency?: Idempotency }): Promise<Result<Written<CompactionJob>, Problem>>;

  claimJob(id: JobId): Promise<Result<ClaimedJob, JobRefusal>>;
  readJobRange(id: JobId, fence: number, afterSeq: number): Promise<Result<SeqPage<JobItem>, JobRefusal>>;
  /** Applied, or stale when the range no longer stands; a stale job is planned anew at once. */
  commitJob(id: JobId, fence: number, commit: JobCommit): Promise<Result<CompactionJob, JobRefusal>>;
  failJob(id: JobId, fence: number, failure: JobFailure): Promise<Result<CompactionJob, JobRefusal>>;
  /** The queue gave up on the job's wake-up. An open job ends as failed. */
  deadLetterJob(id: JobId): Promise<Result<CompactionJob, JobRefusal>>;

  /** The catalog has committed the facts of `(afterSeq, toSeq]`. */
  projected(afterSeq: number, toSeq: number): Promise<void>;
  /** Sends every fact again, from the first. The number of facts that will be sent. */
  repair(): Promise<Result<number, Problem>>;
}

/** The binding, as far as callers use it: a name gives an object, and a call of it may throw. */
export interface SessionNamespace {
  getByName(name: string): SessionRpc;
}

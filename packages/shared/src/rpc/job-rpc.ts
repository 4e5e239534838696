/** What a session's object and a compactor say to each other about a job. */
import type { CompactionPolicy } from "../compaction-policy.ts";
import type { JobId } from "../ids.ts";
import type { Message } from "../message.ts";
import type { Retention } from "../overlay.ts";
import type { PricedUsage } from "../usage-event.ts";

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
  /** What whoever asked wants the summary to pay attention to. */
  readonly instructions: string | null;
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

/** A new job's row. Who calls it has looked that no other job is open. */
import type { JobTrigger } from "@sessionplane/shared/compaction-job";
import type { CompactionPolicy } from "@sessionplane/shared/compaction-policy";
import { newId } from "@sessionplane/shared/ids";
import type { CompactionPlan } from "@sessionplane/engine/compaction/plan";
import type { SessionStore } from "../session-store.ts";
import type { JobRow } from "./job-store.ts";

export type JobRange = Omit<Extract<CompactionPlan, { kind: "compact" }>, "kind">;

export type NewJob = {
  /** `feeds`: the overlays that its summary goes on from; what they stand for is not read. */
  readonly range: JobRange;
  readonly leafSeq: number;
  readonly policy: CompactionPolicy;
  readonly trigger: JobTrigger;
  readonly renews?: string | null;
  readonly instructions?: string | null;
};

const FRESH = {
  state: "queued",
  fence: 0,
  lease_until: null,
  woken_at: null,
  attempts: 0,
  rejections: 0,
  rejected_because: null,
  overlay_id: null,
  tokens_after: null,
  model: null,
  retention: null,
  error: null,
  replaced_by: null,
} as const;

/** What a job is to do, as it is planned now. */
export function plannedColumns(
  store: SessionStore,
  { range, leafSeq, policy, trigger, renews = null, instructions = null }: NewJob,
) {
  return {
    trigger,
    leaf_seq: leafSeq,
    leaf_id: store.messages.idOf(leafSeq) ?? "",
    from_seq: range.fromSeq,
    to_seq: range.toSeq,
    from_id: range.fromId,
    to_id: range.toId,
    planned_at: store.sequence.head,
    messages: range.messages,
    tokens_before: range.tokens,
    feeds: JSON.stringify(range.feeds),
    policy: JSON.stringify(policy),
    renews,
    instructions,
  };
}

export const queueJob = (store: SessionStore, job: NewJob, now: number): JobRow =>
  store.jobs.write({ ...FRESH, id: newId("job"), ...plannedColumns(store, job), created_at: now }, now);

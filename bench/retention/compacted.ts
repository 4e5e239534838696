/**
 * A conversation's range, planned as the session's object plans it, and its summary by the compactor's own
 * course of a job on the built-in model. Only the object and the price book are not there.
 */
import { type CompactionPlan, planCompaction } from "@sessionplane/engine/compaction/plan";
import { estimateMessage } from "@sessionplane/engine/tokens/estimate";
import type { CompactionPolicy } from "@sessionplane/shared/compaction-policy";
import { newId } from "@sessionplane/shared/ids";
import type { Message } from "@sessionplane/shared/message";
import { ok } from "@sessionplane/shared/result";
import type { JobCommit } from "@sessionplane/shared/rpc/job-rpc";
import { extractiveModel } from "../../workers/compactor/src/extractive/extractive-model.ts";
import { type CompactionDeps, runJob } from "../../workers/compactor/src/run-job.ts";
import { callModel } from "../../workers/compactor/src/summarise.ts";

const MODEL = "builtin/extractive";
const LEASE_MS = 300_000;

type Range = { readonly messages: readonly Message[]; readonly plan: Extract<CompactionPlan, { kind: "compact" }> };

const callIdsOf = (message: Message): string[] =>
  message.parts.flatMap((part) => (typeof part["toolCallId"] === "string" ? [part["toolCallId"]] : []));

/** Null: the policy leaves the conversation as it is. */
export function rangeOf(messages: readonly Message[], policy: CompactionPolicy): Range | null {
  const items = messages.map((message, index) => ({
    kind: "message" as const,
    id: message.id,
    seq: index + 1,
    tokens: estimateMessage(message),
    callIds: callIdsOf(message),
  }));
  const plan = planCompaction(items, policy);
  return plan.kind === "skip" ? null : { plan, messages: messages.slice(plan.fromSeq - 1, plan.toSeq) };
}

/** What the object would be given to store, or what the job failed with. */
export async function summaryOf({ messages, plan }: Range, policy: CompactionPolicy): Promise<JobCommit> {
  const done: { commit?: JobCommit; error?: unknown } = {};
  const ended = (state: "applied" | "failed") => ({
    id: newId("job"),
    session_id: newId("session"),
    state,
    trigger: "manual" as const,
    leaf_id: plan.toId,
    from_id: plan.fromId,
    to_id: plan.toId,
    messages: plan.messages,
    tokens_before: plan.tokens,
    tokens_after: null,
    renews_overlay_id: null,
    replaced_by_job_id: null,
    attempts: 1,
    overlay_id: null,
    model: MODEL,
    retention: null,
    cost: null,
    error: null,
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
  });
  const deps: CompactionDeps = {
    claim: async () =>
      ok({
        job_id: newId("job"),
        fence: 1,
        lease_expires_at: Date.now() + LEASE_MS,
        attempt: 1,
        from_id: plan.fromId,
        to_id: plan.toId,
        messages: plan.messages,
        tokens: plan.tokens,
        policy,
        rejected_because: null,
        instructions: null,
      }),
    readRange: async () =>
      ok({
        items: messages.map((message) => ({ kind: "message", message, tokens: estimateMessage(message), created_at: 0 })),
        next_seq: null,
      }),
    renew: async () => ok(Date.now() + LEASE_MS),
    record: async () => ok(null),
    commit: async (_fence, commit) => {
      done.commit = commit;
      return ok(ended("applied"));
    },
    fail: async (_fence, failure) => {
      done.error = failure.error;
      return ok(ended("failed"));
    },
    model: () => ({ id: MODEL, call: (call) => callModel(extractiveModel, call) }),
    price: async () => ok([]),
    warn: () => {},
    nonce: () => "bench",
    now: () => Date.now(),
    pause: async () => {},
  };
  const outcome = await runJob(deps);
  if (done.commit === undefined) throw new Error(`no summary: ${JSON.stringify(outcome)} ${JSON.stringify(done.error)}`);
  return done.commit;
}

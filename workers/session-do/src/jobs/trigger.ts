/**
 * When the object compacts by itself. `append` asks after its messages are written, in their transaction.
 * What is remembered here only spares work: eviction may drop it.
 */
import { type CompactionPolicy, compactionPolicySchema } from "@sessionplane/shared/compaction-policy";
import { shouldCompact } from "@sessionplane/engine/compaction/plan";
import type { SessionStore } from "../session-store.ts";
import type { JobRow } from "./job-store.ts";
import { planFor } from "./plan-job.ts";
import { queueJob } from "./queue-job.ts";
import { renewalOfStale, staleOverlay } from "./renew.ts";

/** So many failures in a row suspend automatic compaction until someone asks by hand. */
export const MAX_FAILURES_IN_A_ROW = 3;

/** A plan that came to nothing is made again after so many messages, and after this share of what it read. */
const REPLAN_AFTER_MESSAGES = 4;
const REPLAN_AFTER_SHARE = 1 / 32;

/** A tenant's later change may contradict the session's policy: then nothing is compacted by itself. */
const isSound = (policy: CompactionPolicy): boolean => compactionPolicySchema.safeParse(policy).success;

type Vain = { readonly policy: string; readonly untilCount: number };

export class Trigger {
  /** The last plan that came to nothing, and the number of messages from which another is worth its reads. */
  #vain: Vain | null = null;

  /** The history is another than the one that was planned in vain. */
  forget(): void {
    this.#vain = null;
  }

  /** Whether jobs come by themselves at all, and none is open. */
  isFree(store: SessionStore, policy: CompactionPolicy): boolean {
    return policy.automatic && store.row.failures < MAX_FAILURES_IN_A_ROW && store.jobs.open() === null;
  }

  /** A summary that does not hold any more is written again. */
  renew(store: SessionStore, policy: CompactionPolicy, now: number): JobRow | null {
    if (staleOverlay(store) === undefined || !this.isFree(store, policy) || !isSound(policy)) return null;
    const renewal = renewalOfStale(store, policy);
    return renewal && queueJob(store, renewal, now);
  }

  /** Cheap: asked on every append. `historyTokens`: of the active leaf, with what is being appended. */
  isDue(store: SessionStore, historyTokens: number, policy: CompactionPolicy): boolean {
    if (!shouldCompact(historyTokens + store.prompt.tokens(), policy) || !this.isFree(store, policy)) return false;
    return this.#vain === null || store.messages.count() >= this.#vain.untilCount || this.#vain.policy !== JSON.stringify(policy);
  }

  /** Plans, and queues a job when the plan is one. Call it when `isDue`. */
  fire(store: SessionStore, policy: CompactionPolicy, now: number): JobRow | null {
    const leaf = store.messages.activeLeaf();
    if (!isSound(policy)) return null;
    const { plan, items } = planFor(store, leaf, policy, false);
    if (plan.kind === "compact") return queueJob(store, { range: plan, leafSeq: leaf, policy, trigger: "automatic" }, now);
    const wait = Math.max(REPLAN_AFTER_MESSAGES, Math.ceil(items * REPLAN_AFTER_SHARE));
    this.#vain = { policy: JSON.stringify(policy), untilCount: store.messages.count() + wait };
    return null;
  }
}

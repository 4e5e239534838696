/** What the session is like after a write of messages, and the compaction that it may have made due. */
import { type CompactionPolicy, layerPolicies } from "@sessionplane/shared/compaction-policy";
import type { AfterWrite, TenantRules } from "@sessionplane/shared/rpc/session-rpc";
import { calibratePolicy } from "@sessionplane/engine/tokens/calibrate";
import type { SessionStore } from "../session-store.ts";

/** The policy in the tokens that the session counts in. */
export const policyFor = (store: SessionStore, rules: TenantRules): CompactionPolicy =>
  calibratePolicy(layerPolicies(rules.compaction, store.row.settings.compaction), store.row.calibration);

export function afterWrite(store: SessionStore): AfterWrite {
  const leaf = store.messages.activeLeaf();
  return {
    leaf_id: store.messages.idOf(leaf),
    token_estimate: store.historyTokens(leaf),
    compaction_job_id: store.jobs.open()?.id ?? null,
  };
}

/** The same, with the job that the write has made necessary. Call it in the write's transaction. */
export function compactIfDue(store: SessionStore, policy: CompactionPolicy, now: number): AfterWrite {
  const after = afterWrite(store);
  // What goes on from a summary must not go on from one that does not hold.
  const renewal = store.trigger.renew(store, policy, now);
  if (renewal !== null) return { ...after, compaction_job_id: renewal.id };
  if (!store.trigger.isDue(store, after.token_estimate, policy)) return after;
  return { ...after, compaction_job_id: store.trigger.fire(store, policy, now)?.id ?? null };
}

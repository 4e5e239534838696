/** What every write of messages shares: what it checks first, and what the session is like after it. */
import { type CompactionPolicy, layerPolicies } from "@sessionplane/shared/compaction-policy";
import { type Message, messageSchema } from "@sessionplane/shared/message";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { AfterWrite, TenantRules } from "@sessionplane/shared/rpc/session-rpc";
import { calibratePolicy } from "@sessionplane/engine/tokens/calibrate";
import type { SessionStore } from "../session-store.ts";

const ENDED = problem("session_ended", "The session has ended: its messages no longer change.");

/** Whether messages may be written or removed at all. */
export const checkOpen = (store: SessionStore): Problem | null => (store.row.status === "ended" ? ENDED : null);

/** Refuses what the database has no room for, before the platform does. */
export function checkRoom(store: SessionStore, bytes: number): Problem | null {
  if (store.hasRoomFor(bytes)) return null;
  return problem("session_full", "The session's database is full: fork the session, split it, or delete messages.");
}

/** The policy in the tokens that the session counts in. */
export const policyFor = (store: SessionStore, rules: TenantRules): CompactionPolicy =>
  calibratePolicy(layerPolicies(rules.compaction, store.row.settings.compaction), store.row.calibration);

/** Where a message hangs: 0 is a new root. */
export function parentSeq(store: SessionStore, parentId: string | null | undefined): Result<number, Problem> {
  if (parentId === undefined) return ok(store.messages.activeLeaf());
  if (parentId === null) return ok(0);
  const seq = store.messages.seqOf(parentId);
  return seq === null
    ? err(fieldProblem("unknown_parent", "/parent_id", `${parentId} is not a message of this session`))
    : ok(seq);
}

/** The message as it is stored; null when there is none, or no longer. */
export function storedMessage(store: SessionStore, id: string): Message | null {
  const row = store.messages.find(id);
  return row === null ? null : messageSchema.parse(JSON.parse(row.json));
}

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
  if (!store.trigger.isDue(store, after.token_estimate, policy)) return after;
  return { ...after, compaction_job_id: store.trigger.fire(store, policy, now)?.id ?? null };
}

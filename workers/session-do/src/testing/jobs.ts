/** Builders for tests of compaction jobs: a session whose history makes one due, and what a compactor says to it. */
import { runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import type { CompactionPolicyPatch } from "@sessionplane/shared/compaction-policy";
import type { JobId } from "@sessionplane/shared/ids";
import type { ClaimedJob, JobCommit, JobFailure } from "@sessionplane/shared/rpc/job-rpc";
import type { TenantRules } from "@sessionplane/shared/rpc/session-rpc";
import { RULES, type TestSession, append, conversation, message, opened, valueOf } from "./session.ts";

export const POLICY: CompactionPolicyPatch = { threshold: 300, keep_recent_tokens: 60, protect_head: 1, cooldown_messages: 1 };
export const SMALL: TenantRules = { ...RULES, compaction: POLICY };
export const MANUAL: TenantRules = { ...RULES, compaction: { ...POLICY, automatic: false } };
export const COMMIT: JobCommit = { summary: "what was said", model: "builtin/extractive", retention: null, usage: [] };

export const failure = (outcome: JobFailure["outcome"], rest: Partial<JobFailure> = {}): JobFailure => ({
  outcome,
  error: { code: "model_error", detail: `${outcome} it` },
  model: "builtin/extractive",
  usage: [],
  ...rest,
});

/** Past the threshold, with the job that this made. */
export async function due(rules: TenantRules = SMALL): Promise<{ session: TestSession; id: JobId }> {
  const session = await opened();
  const reply = await append(session, conversation(20, 20), { rules });
  return { session, id: reply.compaction_job_id as JobId };
}

export const claim = async (session: TestSession, id: string): Promise<ClaimedJob> =>
  valueOf(await session.rpc().claimJob(id as JobId));

export const jobs = async (session: TestSession) => valueOf(await session.rpc().listJobs({ limit: 100 })).items;

export const overlays = async (session: TestSession) => valueOf(await session.rpc().listOverlays({ limit: 100 })).items;

export const state = async (session: TestSession) => valueOf(await session.rpc().describe(RULES)).compaction.state;

export const shown = async (session: TestSession): Promise<string[]> =>
  valueOf(await session.rpc().readHistory({ view: "history", order: "asc", limit: 100 })).items.map((item) => item.meta.id);

/** States that the events stream has told of a job, in order. */
export const told = (session: TestSession, id: string): Promise<string[]> =>
  runInDurableObject(session.newStub(), (_instance, { storage }) =>
    storage.sql
      .exec<{ state: string }>(
        "SELECT data ->> 'state' AS state FROM events WHERE type = 'compaction' AND data ->> 'job_id' = ? ORDER BY seq",
        id,
      )
      .toArray()
      .map((row) => row.state),
  );

/** The objects' clock, with everything else as it is. */
export const setClock = (instant: number): void => {
  vi.useFakeTimers({ toFake: ["Date"], now: instant });
};

let keys = 0;
export const once = () => ({ key: `key-${(keys += 1)}`, fingerprint: "f" });

export const edit = async (session: TestSession, id: string, text: string, rules = SMALL) =>
  valueOf(await session.rpc().putMessage({ message: message(id, text), source: "server", rules })).value;

export const remove = async (session: TestSession, ...ids: string[]) =>
  valueOf(await session.rpc().deleteMessages({ ids, source: "server", rules: SMALL, idempotency: once() }));

/** Claims the job and commits it. */
export async function commit(session: TestSession, id: string, rest: Partial<JobCommit> = {}) {
  const { fence } = await claim(session, id);
  return valueOf(await session.rpc().commitJob(id as JobId, fence, { ...COMMIT, ...rest }));
}

/** The job that changed last. */
export async function newest(session: TestSession) {
  const [job] = await jobs(session);
  if (job === undefined) throw new Error("there is no job");
  return job;
}

export const billed = async (session: TestSession): Promise<number> => valueOf(await session.rpc().readUsage()).usage.events;

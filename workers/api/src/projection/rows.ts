/** Facts as the rows that the projection's statements read: each event, session and job once. Pure. */
import { idOfSameMoment, momentOf } from "@sessionplane/shared/ids";
import { isUnpriced, sumOf } from "@sessionplane/shared/priced-usage";
import type { FactBatch, JobFact, SessionFact, UsageFact } from "@sessionplane/shared/queue/fact";
import { QUARTER_MS } from "@sessionplane/shared/report";

type Owner = { readonly tenant: string; readonly session: string };

const usageRow = (owner: Owner, { seq, recorded_at: recorded, event }: UsageFact) => ({
  ...owner,
  seq,
  recorded,
  bucket: Math.floor(event.occurred_at / QUARTER_MS) * QUARTER_MS,
  list: sumOf(event.lines.map((line) => line.list_nano)),
  billed: sumOf(event.lines.map((line) => line.billed_nano)),
  unpriced: event.adjustment?.unpriced_change ?? Number(isUnpriced(event)),
  inconsistent: Number((event.inconsistent ?? []).length > 0),
  event,
});

const jobRow = (owner: Owner, { seq, job }: JobFact) => ({
  ...owner,
  seq,
  created: Date.parse(job.created_at),
  updated: Date.parse(job.updated_at),
  job,
});

export type ProjectionRows = {
  readonly usage: readonly ReturnType<typeof usageRow>[];
  readonly sessions: readonly (Owner & { readonly fact: SessionFact })[];
  readonly jobs: readonly ReturnType<typeof jobRow>[];
};

/** The claim of the request that made a session, where it was made with a key. */
export const claimOf = ({ tenant, session }: Owner) => ({
  ...{ tenant, session },
  seed: idOfSameMoment("request", session),
  made: momentOf(session),
});

/** The rows of several batches together. A batch that was delivered twice counts once. */
export function rowsOf(batches: readonly FactBatch[]): ProjectionRows {
  const usage = new Map<string, ReturnType<typeof usageRow>>();
  const sessions = new Map<string, Owner & { fact: SessionFact }>();
  const jobs = new Map<string, ReturnType<typeof jobRow>>();
  for (const batch of batches) {
    const owner: Owner = { tenant: batch.tenant_id, session: batch.session_id };
    for (const fact of batch.facts) {
      if (fact.kind === "usage") {
        const key = JSON.stringify([owner.session, fact.event.id]);
        if (!usage.has(key)) usage.set(key, usageRow(owner, fact));
      } else if (fact.kind === "session") {
        if (fact.seq > (sessions.get(owner.session)?.fact.seq ?? -1)) sessions.set(owner.session, { ...owner, fact });
      } else if (fact.kind === "job" && fact.seq > (jobs.get(fact.job.id)?.seq ?? -1)) jobs.set(fact.job.id, jobRow(owner, fact));
    }
  }
  return { usage: [...usage.values()], sessions: [...sessions.values()], jobs: [...jobs.values()] };
}

/** What the log says to the catalog: the session's facts as queue messages. Reads only. */
import type { FactBatch, JobFact, SessionFact, UsageFact } from "@sessionplane/shared/queue/fact";
import type { CompactionState } from "@sessionplane/shared/session";
import { pricedUsageSchema } from "@sessionplane/shared/usage-event";
import { utf8Bytes } from "@sessionplane/engine/messages/split-text";
import { toCompactionJob } from "../jobs/job-store.ts";
import { MAX_FAILURES_IN_A_ROW } from "../jobs/trigger.ts";
import type { SessionStore } from "../session-store.ts";
import type { UsageRow } from "../usage/ledger.ts";
import { clearFacts, textFacts } from "./text-facts.ts";

/** A queue message holds 128 KB, its envelope included. */
const MAX_FACT_BYTES = 100_000;
const MAX_EVENTS_READ = 500;

export function compactionState(store: SessionStore): CompactionState {
  const open = store.jobs.open();
  if (open !== null) return open.state === "running" ? "running" : "queued";
  return store.row.failures >= MAX_FAILURES_IN_A_ROW ? "suspended" : "idle";
}

/** The session as it is now: it stands for everything up to the log's head. */
export function sessionFact(store: SessionStore): SessionFact {
  const { row } = store;
  const leaf = store.messages.activeLeaf();
  const totals = store.ledger.totals();
  return {
    kind: "session",
    seq: store.sequence.head,
    settings: row.settings,
    status: row.status,
    end_reason: row.end_reason,
    revision: row.revision,
    leaf_id: store.messages.idOf(leaf),
    message_count: store.messages.count(),
    token_estimate: store.historyTokens(leaf),
    compaction_state: compactionState(store),
    open_job_id: store.jobs.open()?.id ?? null,
    usage: {
      events: totals.total_events,
      input_tokens: totals.total_input,
      output_tokens: totals.total_output,
      list_nano: totals.total_list,
      billed_nano: totals.total_billed,
      unpriced_events: totals.total_unpriced,
    },
    created_at: row.created_at,
    updated_at: store.updatedAt(),
  };
}

const usageFact = (row: UsageRow): UsageFact => ({
  kind: "usage",
  seq: row.seq,
  recorded_at: row.recorded_at,
  event: pricedUsageSchema.parse(JSON.parse(row.event)),
});

function jobFacts(store: SessionStore, after: number, to: number): JobFact[] {
  return store.jobs.between(after, to).map((job) => ({
    kind: "job",
    seq: job.seq,
    job: toCompactionJob(store.row.session_id, job, store.ledger.billedForJob(job.id)),
  }));
}

const sizeOf = (fact: FactBatch["facts"][number]): number => utf8Bytes(JSON.stringify(fact));

/**
 * The next stretch of the log past `after`: as many facts as one queue message holds, and where they end.
 * The last stretch brings the session itself. Null when the catalog has everything.
 */
export function nextBatch(store: SessionStore, after: number): FactBatch | null {
  const { head } = store.sequence;
  if (after >= head) return null;
  const usage = store.ledger.between(after, head, MAX_EVENTS_READ);
  const texts = textFacts(store, after);
  const reach = Math.min(texts.reach, usage.length === MAX_EVENTS_READ ? (usage.at(-1)?.seq ?? head) : head);
  const session = sessionFact(store);
  const facts = [...usage.map(usageFact), ...jobFacts(store, after, reach), ...texts.facts]
    .filter((fact) => fact.seq <= reach)
    .toSorted((a, b) => a.seq - b.seq);
  const taken: typeof facts = [];
  let bytes = sizeOf(session);
  for (const fact of facts) {
    bytes += sizeOf(fact);
    if (taken.length > 0 && bytes > MAX_FACT_BYTES) break;
    taken.push(fact);
  }
  const last = taken.at(-1);
  const to = taken.length < facts.length && last !== undefined ? last.seq : reach;
  const { tenant_id, session_id } = store.row;
  const all = [...taken, ...clearFacts(store, after, to), ...(to === head ? [session] : [])];
  return { v: 1, tenant_id, session_id, after_seq: after, to_seq: to, facts: all };
}

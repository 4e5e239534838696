/** The `jobs` table. A change of a job gives it a new seq, so that the newest fact of it wins. */
import { formatInstant } from "@sessionplane/shared/fields";
import {
  type CompactionJob,
  type JobState,
  type JobTrigger,
  jobStateSchema,
  jobTriggerSchema,
} from "@sessionplane/shared/compaction-job";
import { type CompactionPolicy, compactionPolicySchema } from "@sessionplane/shared/compaction-policy";
import type { JobId } from "@sessionplane/shared/ids";
import { formatMoney } from "@sessionplane/shared/money";
import { retentionSchema } from "@sessionplane/shared/overlay";
import type { EventLog } from "../events/event-log.ts";
import type { Sequence } from "@sessionplane/engine/storage/sqlite/sequence";

export type JobRow = {
  id: JobId;
  seq: number;
  state: string;
  trigger: string;
  leaf_seq: number;
  leaf_id: string;
  from_seq: number;
  to_seq: number;
  from_id: string;
  to_id: string;
  /** The log's head when the range was planned. */
  planned_at: number;
  messages: number;
  tokens_before: number;
  /** JSON: ids of the overlays inside the range. */
  feeds: string;
  /** JSON: the policy in force when it was planned. */
  policy: string;
  fence: number;
  lease_until: number | null;
  woken_at: number | null;
  attempts: number;
  rejections: number;
  rejected_because: string | null;
  overlay_id: string | null;
  tokens_after: number | null;
  model: string | null;
  retention: string | null;
  error: string | null;
  /** The overlay that it takes the place of. */
  renews: string | null;
  instructions: string | null;
  /** Of a stale job: the one that was planned in its place. */
  replaced_by: string | null;
  created_at: number;
  updated_at: number;
};

const COLUMNS = [
  "id",
  "seq",
  "state",
  "trigger",
  "leaf_seq",
  "leaf_id",
  "from_seq",
  "to_seq",
  "from_id",
  "to_id",
  "planned_at",
  "messages",
  "tokens_before",
  "feeds",
  "policy",
  "fence",
  "lease_until",
  "woken_at",
  "attempts",
  "rejections",
  "rejected_because",
  "overlay_id",
  "tokens_after",
  "model",
  "retention",
  "error",
  "renews",
  "instructions",
  "replaced_by",
  "created_at",
  "updated_at",
] as const satisfies readonly (keyof JobRow)[];
const SELECT = `SELECT ${COLUMNS.join(", ")} FROM jobs`;
const WRITE = `INSERT OR REPLACE INTO jobs (${COLUMNS.join(", ")}) VALUES (${COLUMNS.map(() => "?").join(", ")})`;

export class JobStore {
  readonly #sql: SqlStorage;
  readonly #sequence: Sequence;
  readonly #events: EventLog;
  /** Appends ask on every write whether a job is open: remembered, null when none is. */
  #open: JobRow | null | undefined;

  constructor(sql: SqlStorage, sequence: Sequence, events: EventLog) {
    this.#sql = sql;
    this.#sequence = sequence;
    this.#events = events;
  }

  find(id: string): JobRow | null {
    return this.#sql.exec<JobRow>(`${SELECT} WHERE id = ?`, id).toArray()[0] ?? null;
  }

  /** The session's open job: there is one at most. */
  open(): JobRow | null {
    if (this.#open === undefined) {
      const open = this.#sql.exec<JobRow>(`${SELECT} WHERE state IN ('queued', 'running') LIMIT 1`).toArray();
      this.#open = open[0] ?? null;
    }
    return this.#open;
  }

  /** Writes a new job or a change of one: a fact, with the next seq. */
  write(job: Omit<JobRow, "seq" | "updated_at">, now: number): JobRow {
    const row: JobRow = { ...job, seq: this.#sequence.next(), updated_at: now };
    this.#store(row);
    const { id, seq, state, trigger, overlay_id } = row;
    const error = row.error === null ? null : (JSON.parse(row.error) as unknown);
    this.#events.note(seq, "compaction", { job_id: id, state, trigger, overlay_id, error });
    return row;
  }

  /** A fact for the catalog alone: what it cost is another now, its state is the same. */
  restate(job: JobRow): void {
    this.#store({ ...job, seq: this.#sequence.next() });
  }

  /** Notes when its wake-up was sent: not a fact. */
  markWoken(job: JobRow, now: number): void {
    this.#store({ ...job, woken_at: now });
  }

  /** The other job's fact tells of it. */
  markReplaced(job: JobRow, by: JobRow): JobRow {
    const row = { ...job, replaced_by: by.id };
    this.#store(row);
    return row;
  }

  /** Not a fact either. Of a job whose lease had run out it makes a running one again. */
  extendLease(job: JobRow, until: number): void {
    this.#store({ ...job, state: "running", lease_until: until });
  }

  forget(): void {
    this.#open = undefined;
  }

  #store(row: JobRow): void {
    this.#sql.exec(WRITE, ...COLUMNS.map((column) => row[column]));
    this.#open = undefined;
  }

  /** Newest first by the last change, one row more than the limit. */
  list(limit: number, beforeSeq: number | undefined): JobRow[] {
    return this.#sql
      .exec<JobRow>(`${SELECT} WHERE seq < ? ORDER BY seq DESC LIMIT ?`, beforeSeq ?? Number.MAX_SAFE_INTEGER, limit + 1)
      .toArray();
  }

  between(after: number, to: number): JobRow[] {
    return this.#sql.exec<JobRow>(`${SELECT} WHERE seq > ? AND seq <= ? ORDER BY seq`, after, to).toArray();
  }
}

export const policyOf = (job: JobRow): CompactionPolicy => compactionPolicySchema.parse(JSON.parse(job.policy));
export const feedsOf = (job: JobRow): readonly string[] => JSON.parse(job.feeds) as string[];

export const triggerOf = (job: JobRow): JobTrigger => jobTriggerSchema.parse(job.trigger);
export const stateOf = (job: JobRow): JobState => jobStateSchema.parse(job.state);

/** As the API shows it. `billedNano`: what its model calls cost; null while one is unpriced. */
export const toCompactionJob = (sessionId: string, job: JobRow, billedNano: number | null): CompactionJob => ({
  id: job.id,
  session_id: sessionId,
  state: stateOf(job),
  trigger: triggerOf(job),
  leaf_id: job.leaf_id,
  from_id: job.from_id,
  to_id: job.to_id,
  messages: job.messages,
  tokens_before: job.tokens_before,
  tokens_after: job.tokens_after,
  renews_overlay_id: job.renews,
  replaced_by_job_id: job.replaced_by,
  attempts: job.attempts,
  overlay_id: job.overlay_id,
  model: job.model,
  retention: job.retention === null ? null : retentionSchema.parse(JSON.parse(job.retention)),
  cost: billedNano === null ? null : formatMoney(billedNano),
  error: job.error === null ? null : (JSON.parse(job.error) as { code: string; detail: string }),
  created_at: formatInstant(job.created_at),
  updated_at: formatInstant(job.updated_at),
});

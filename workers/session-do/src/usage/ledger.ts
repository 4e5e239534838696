/** Usage events of the session, each once, with running totals: the newest row is the session's total. */
import { formatMoney } from "@sessionplane/shared/money";
import { type StoredUsage, isUnpriced, linesNow, recorded, sumOf } from "@sessionplane/shared/priced-usage";
import type { SessionUsage } from "@sessionplane/shared/session";
import { type PricedUsage, type RecordedUsage, pricedUsageSchema } from "@sessionplane/shared/usage-event";
import type { Sequence } from "@sessionplane/engine/storage/sqlite/sequence";

export type UsageTotals = {
  total_events: number;
  total_input: number;
  total_output: number;
  total_list: number;
  total_billed: number;
  total_unpriced: number;
};
export type UsageRow = UsageTotals & { seq: number; id: string; fingerprint: string; event: string; recorded_at: number };

const NOTHING: UsageTotals = {
  total_events: 0,
  total_input: 0,
  total_output: 0,
  total_list: 0,
  total_billed: 0,
  total_unpriced: 0,
};
const COLUMNS =
  "seq, id, fingerprint, event, total_events, total_input, total_output, total_list, total_billed, total_unpriced, recorded_at";

const parse = (row: Pick<UsageRow, "event">): PricedUsage => pricedUsageSchema.parse(JSON.parse(row.event));

export const toStored = (row: Pick<UsageRow, "event" | "recorded_at">): StoredUsage => ({
  event: parse(row),
  recordedAt: row.recorded_at,
});

export class Ledger {
  readonly #sql: SqlStorage;
  readonly #sequence: Sequence;
  #newest: (UsageTotals & { recorded_at: number }) | undefined;

  constructor(sql: SqlStorage, sequence: Sequence) {
    this.#sql = sql;
    this.#sequence = sequence;
  }

  forget(): void {
    this.#newest = undefined;
  }

  /** Totals of all events, and when the newest was recorded (0: none). */
  totals(): UsageTotals & { recorded_at: number } {
    this.#newest ??= this.#sql
      .exec<UsageTotals & { recorded_at: number }>(
        "SELECT total_events, total_input, total_output, total_list, total_billed, total_unpriced, recorded_at FROM usage_events ORDER BY seq DESC LIMIT 1",
      )
      .toArray()[0] ?? { ...NOTHING, recorded_at: 0 };
    return this.#newest;
  }

  /** Whether the totals stay exact with these events, even if none of them is a repetition. */
  holds(events: readonly PricedUsage[]): boolean {
    const { total_input, total_output, total_list, total_billed } = this.totals();
    const lines = events.flatMap((event) => event.lines);
    const sums = [
      total_input + sumOf(events.map((event) => event.input_tokens)),
      total_output + sumOf(events.map((event) => event.output_tokens)),
      total_list + sumOf(lines.map((line) => line.list_nano)),
      total_billed + sumOf(lines.map((line) => line.billed_nano)),
    ];
    return sums.every(Number.isSafeInteger);
  }

  /** Writes the event if its id is new. `jobId`: the compaction job whose model call it was. */
  record(event: PricedUsage, jobId: string | null, now: number): RecordedUsage {
    const present = this.#sql.exec<UsageRow>(`SELECT ${COLUMNS} FROM usage_events WHERE id = ?`, event.id).toArray()[0];
    if (present !== undefined)
      return recorded(parse(present), present.fingerprint === event.fingerprint ? "duplicate" : "conflict");
    const before = this.totals();
    const totals: UsageTotals = {
      total_events: before.total_events + (event.adjustment === undefined ? 1 : 0),
      total_input: before.total_input + event.input_tokens,
      total_output: before.total_output + event.output_tokens,
      total_list: before.total_list + sumOf(event.lines.map((line) => line.list_nano)),
      total_billed: before.total_billed + sumOf(event.lines.map((line) => line.billed_nano)),
      total_unpriced: before.total_unpriced + (event.adjustment?.unpriced_change ?? Number(isUnpriced(event))),
    };
    this.#sql.exec(
      `INSERT INTO usage_events (job_id, adjusts, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[jobId, event.adjustment?.of ?? null, this.#sequence.next(), event.id, event.fingerprint, JSON.stringify(event)],
      ...[
        totals.total_events,
        totals.total_input,
        totals.total_output,
        totals.total_list,
        totals.total_billed,
        totals.total_unpriced,
        now,
      ],
    );
    this.#newest = { ...totals, recorded_at: now };
    return recorded(event, "created");
  }

  /** Newest first, one row more than the limit. */
  list(limit: number, beforeSeq: number | undefined): UsageRow[] {
    return this.#sql
      .exec<UsageRow>(
        `SELECT ${COLUMNS} FROM usage_events WHERE seq < ? ORDER BY seq DESC LIMIT ?`,
        beforeSeq ?? Number.MAX_SAFE_INTEGER,
        limit + 1,
      )
      .toArray();
  }

  /** Of one event, oldest first. */
  adjustmentsOf(id: string): StoredUsage[] {
    return this.#sql
      .exec<UsageRow>(`SELECT ${COLUMNS} FROM usage_events WHERE adjusts = ? ORDER BY seq`, id)
      .toArray()
      .map(toStored);
  }

  row(id: string): UsageRow | null {
    return this.#sql.exec<UsageRow>(`SELECT ${COLUMNS} FROM usage_events WHERE id = ?`, id).toArray()[0] ?? null;
  }

  find(id: string): PricedUsage | null {
    const row = this.row(id);
    return row === null ? null : parse(row);
  }

  /** Oldest first, of `(after, to]`. */
  between(after: number, to: number, limit: number): UsageRow[] {
    return this.#sql
      .exec<UsageRow>(`SELECT ${COLUMNS} FROM usage_events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, after, to, limit)
      .toArray();
  }

  /** What a job's model calls cost, corrections in it; null while one of them is unpriced. */
  billedForJob(jobId: string): number | null {
    const events = this.#sql
      .exec<{ event: string }>("SELECT event FROM usage_events WHERE job_id = ?", jobId)
      .toArray()
      .map(parse);
    const lines = events.flatMap((event) =>
      linesNow(
        event,
        this.adjustmentsOf(event.id).map((one) => one.event),
      ),
    );
    return isUnpriced({ lines: [...lines] }) ? null : sumOf(lines.map((line) => line.billed_nano));
  }
}

export const toSessionUsage = (totals: UsageTotals): SessionUsage => ({
  events: totals.total_events,
  input_tokens: totals.total_input,
  output_tokens: totals.total_output,
  cost: formatMoney(totals.total_billed),
  list_cost: formatMoney(totals.total_list),
  unpriced_events: totals.total_unpriced,
});

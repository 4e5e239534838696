/**
 * The session's database as its parts, and what several of them say together. One per awake object;
 * everything in memory is a copy that eviction may drop. Writes are synchronous.
 */
import { standing } from "@sessionplane/engine/history/apply-overlays";
import { migrate } from "@sessionplane/engine/storage/sqlite/migrate";
import { MessageStore } from "@sessionplane/engine/storage/sqlite/messages";
import { OverlayStore } from "@sessionplane/engine/storage/sqlite/overlays";
import { Sequence } from "@sessionplane/engine/storage/sqlite/sequence";
import type { FaultPoints } from "./fault-points.ts";
import { IdempotencyKeys } from "./idempotency.ts";
import { JobStore } from "./jobs/job-store.ts";
import { Trigger } from "./jobs/trigger.ts";
import { MIGRATIONS } from "./migrations.ts";
import { type SessionRow, hasSessionRow, readSessionRow, writeSessionRow } from "./session-row.ts";
import { Ledger } from "./usage/ledger.ts";

const headOf = (sql: SqlStorage): number =>
  sql
    .exec<{ head: number | null }>(
      `SELECT max(seq) AS head FROM (SELECT max(seq) AS seq FROM messages UNION ALL SELECT max(seq) FROM usage_events
       UNION ALL SELECT max(seq) FROM jobs UNION ALL SELECT max(seq) FROM overlays UNION ALL SELECT max(seq) FROM session)`,
    )
    .one().head ?? 0;

export class SessionStore {
  readonly #storage: DurableObjectStorage;
  readonly sequence: Sequence;
  readonly messages: MessageStore;
  readonly overlays: OverlayStore;
  readonly ledger: Ledger;
  readonly jobs: JobStore;
  readonly keys: IdempotencyKeys;
  readonly trigger = new Trigger();
  readonly faults: FaultPoints;
  #row: SessionRow;

  private constructor(storage: DurableObjectStorage, faults: FaultPoints, row: SessionRow) {
    const { sql } = storage;
    this.#storage = storage;
    this.#row = row;
    this.faults = faults;
    this.sequence = new Sequence(headOf(sql));
    this.messages = new MessageStore(sql, this.sequence);
    this.overlays = new OverlayStore(sql);
    this.ledger = new Ledger(sql, this.sequence);
    this.jobs = new JobStore(sql, this.sequence);
    this.keys = new IdempotencyKeys(sql);
  }

  /** The session that the database holds, brought to the present version; null when it was never opened. */
  static load(storage: DurableObjectStorage, faults: FaultPoints): SessionStore | null {
    migrate(storage, MIGRATIONS);
    return hasSessionRow(storage.sql) ? new SessionStore(storage, faults, readSessionRow(storage.sql)) : null;
  }

  static create(storage: DurableObjectStorage, faults: FaultPoints, row: SessionRow): SessionStore {
    migrate(storage, MIGRATIONS);
    writeSessionRow(storage.sql, row);
    return new SessionStore(storage, faults, row);
  }

  get row(): SessionRow {
    return this.#row;
  }

  save(patch: Partial<SessionRow>): void {
    const row = { ...this.#row, ...patch };
    writeSessionRow(this.#storage.sql, row);
    this.#row = row;
  }

  /** All of it or nothing. `work` is synchronous: an await inside would commit what came before. */
  atomically<T>(work: () => T): T {
    const { head } = this.sequence;
    try {
      return this.#storage.transactionSync(work);
    } catch (error) {
      // What memory says may have been rolled back.
      this.sequence.rollBackTo(head);
      this.messages.forget();
      this.overlays.forget();
      this.ledger.forget();
      this.jobs.forget();
      this.#row = readSessionRow(this.#storage.sql);
      throw error;
    }
  }

  /** 0 in a session without messages. A chosen leaf holds until a message is written after the choice. */
  activeLeaf(): number {
    const newest = this.messages.newest()?.seq ?? 0;
    return newest > this.#row.leaf_chosen_at ? newest : this.#row.leaf_seq;
  }

  /** Tokens of the history to a leaf as a model sees it. Reads rows by key alone, whatever the length. */
  historyTokens(leafSeq: number): number {
    if (leafSeq === 0) return 0;
    const newest = this.messages.newest();
    const total = (newest?.seq === leafSeq ? newest : this.messages.meta(leafSeq)).path_tokens;
    const overlays = this.overlays.all();
    if (overlays.length === 0) return total;
    return standing(overlays, this.messages.pathTo(leafSeq)).reduce(
      (sum, one) => sum - one.tokens_before + one.tokens_after,
      total,
    );
  }

  updatedAt(): number {
    return Math.max(this.#row.updated_at, this.messages.newest()?.created_at ?? 0, this.ledger.totals().recorded_at);
  }
}

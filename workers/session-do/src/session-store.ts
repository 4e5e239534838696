/**
 * The session's database as its parts, and what several of them say together. One per awake object;
 * everything in memory is a copy that eviction may drop. Writes are synchronous.
 */
import { historyTokens, overlaysOver } from "@sessionplane/engine/history/history-totals";
import { migrate } from "@sessionplane/engine/storage/sqlite/migrate";
import { MediaStore } from "@sessionplane/engine/storage/sqlite/media-store";
import { MessageTree } from "@sessionplane/engine/storage/sqlite/message-tree";
import { OverlayStore, type StoredOverlay } from "@sessionplane/engine/storage/sqlite/overlays";
import { SearchIndex } from "@sessionplane/engine/storage/sqlite/search-index";
import { EntryStore } from "@sessionplane/engine/storage/sqlite/entry-store";
import { SkillState } from "@sessionplane/engine/storage/sqlite/skill-state";
import { TextLog } from "@sessionplane/engine/storage/sqlite/text-log";
import { Sequence } from "@sessionplane/engine/storage/sqlite/sequence";
import { BlockStore } from "./context/block-store.ts";
import { PromptStore } from "./context/prompt-store.ts";
import { ErasureStore } from "./erasure-store.ts";
import { EventLog } from "./events/event-log.ts";
import type { FaultPoints } from "./fault-points.ts";
import { IdempotencyKeys } from "./idempotency.ts";
import { JobStore } from "./jobs/job-store.ts";
import { Trigger } from "./jobs/trigger.ts";
import { MIGRATIONS } from "./migrations.ts";
import { type SessionRow, hasSessionRow, readSessionRow, writeSessionRow } from "./session-row.ts";
import { Ledger } from "./usage/ledger.ts";
import { LedgerSums } from "./usage/ledger-sums.ts";

const SEQUENCED = ["messages", "usage_events", "jobs", "overlays", "session", "events"].map(
  (table) => `coalesce((SELECT max(seq) FROM ${table}), 0)`,
);
const HEAD = `SELECT max(${SEQUENCED.join(", ")}, (SELECT changed_seq FROM tree)) AS head`;

/** The newest number that the log has given out. */
const headOf = (sql: SqlStorage): number => sql.exec<{ head: number }>(HEAD).one().head;

/** What other writes may add beside messages between two looks at the database's size. */
const ROOM_UNASKED = 16 * 1024 * 1024;
/** Its columns, its index, what the pages leave free. */
const BYTES_BESIDE_A_MESSAGE = 512;

export type StoreOptions = {
  readonly faults: FaultPoints;
  /** Bytes that the database may have: below the platform's limit, at which every write fails. */
  readonly maxBytes: number;
};

export class SessionStore {
  readonly #storage: DurableObjectStorage;
  readonly sequence: Sequence;
  readonly messages: MessageTree;
  readonly overlays: OverlayStore;
  readonly media: MediaStore;
  readonly search: SearchIndex;
  readonly textLog: TextLog;
  readonly skills: SkillState;
  readonly entries: EntryStore;
  readonly blocks: BlockStore;
  readonly prompt: PromptStore;
  readonly ledger: Ledger;
  readonly sums: LedgerSums;
  readonly jobs: JobStore;
  readonly events: EventLog;
  readonly keys: IdempotencyKeys;
  readonly ledgerKeys: IdempotencyKeys;
  readonly erasure: ErasureStore;
  readonly trigger = new Trigger();
  readonly faults: FaultPoints;
  readonly #maxBytes: number;
  /** Bytes that may surely be written before the database's size is asked for again. */
  #room = 0;
  #row: SessionRow;

  private constructor(storage: DurableObjectStorage, { faults, maxBytes }: StoreOptions, row: SessionRow) {
    const { sql } = storage;
    this.#storage = storage;
    this.#maxBytes = maxBytes;
    this.#row = row;
    this.faults = faults;
    this.sequence = new Sequence(headOf(sql));
    this.messages = new MessageTree(sql, this.sequence);
    this.overlays = new OverlayStore(sql);
    this.media = new MediaStore(sql);
    this.search = new SearchIndex(sql);
    this.textLog = new TextLog(sql);
    this.skills = new SkillState(sql);
    this.entries = new EntryStore(sql);
    this.blocks = new BlockStore(sql);
    this.prompt = new PromptStore(sql);
    this.ledger = new Ledger(sql, this.sequence);
    this.sums = new LedgerSums(sql);
    this.events = new EventLog(sql);
    this.jobs = new JobStore(sql, this.sequence, this.events);
    this.keys = new IdempotencyKeys(sql);
    this.ledgerKeys = new IdempotencyKeys(sql, 1);
    this.erasure = new ErasureStore(sql);
  }

  /** The session that the database holds, brought to the present version; null when it was never opened. */
  static load(storage: DurableObjectStorage, options: StoreOptions): SessionStore | null {
    migrate(storage, MIGRATIONS);
    return hasSessionRow(storage.sql) ? new SessionStore(storage, options, readSessionRow(storage.sql)) : null;
  }

  static create(storage: DurableObjectStorage, options: StoreOptions, row: SessionRow): SessionStore {
    migrate(storage, MIGRATIONS);
    writeSessionRow(storage.sql, row);
    return new SessionStore(storage, options, row);
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
      this.#forget();
      this.#row = readSessionRow(this.#storage.sql);
      throw error;
    }
  }

  #forget(): void {
    this.messages.forget();
    this.overlays.forget();
    this.media.forget();
    this.search.forget();
    this.skills.forget();
    this.prompt.forget();
    this.ledger.forget();
    this.jobs.forget();
    this.trigger.forget();
  }

  /** Empties every table but these, also of what later versions keep. Full-text indices go with their tables. */
  emptyAllBut(kept: readonly string[]): void {
    const { sql } = this.#storage;
    const tables = (virtual: 0 | 1) =>
      sql
        .exec<{ name: string }>(
          "SELECT name FROM sqlite_master WHERE type = 'table' AND (sql LIKE 'CREATE VIRTUAL%') = ? AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '_cf_*'",
          virtual,
        )
        .toArray();
    for (const { name } of tables(1)) sql.exec(`DROP TABLE [${name}]`);
    for (const { name } of tables(0)) if (!kept.includes(name)) sql.exec(`DELETE FROM [${name}]`);
    this.#forget();
  }

  /** What models read is another history now: nothing that was learned of the earlier one holds. */
  noteRewritten(): void {
    // A provider's cache of the prefix ends here anyway: what was written to the blocks may show now.
    this.prompt.expire();
    this.trigger.forget();
    if (this.#row.calibration !== 1) this.save({ calibration: 1 });
  }

  historyTokens(leafSeq: number): number {
    return historyTokens(this, leafSeq);
  }

  overlaysOver(seqs: readonly number[]): StoredOverlay[] {
    return overlaysOver(this.messages, this.overlays, seqs);
  }

  /** Whether the database may grow by this much and stay below the platform's limit. Its size is asked for now and then. */
  hasRoomFor(bytes: number): boolean {
    this.#room -= bytes + BYTES_BESIDE_A_MESSAGE;
    if (this.#room >= 0) return true;
    const room = this.#maxBytes - this.#storage.sql.databaseSize - bytes;
    this.#room = Math.min(room, ROOM_UNASKED);
    return room >= 0;
  }

  updatedAt(): number {
    return Math.max(this.#row.updated_at, this.messages.updatedAt(), this.ledger.totals().recorded_at);
  }
}

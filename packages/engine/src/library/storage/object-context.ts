/**
 * What context providers keep in an object beside its sessions: texts and entries that all of them may read. In
 * the tables of number 0, which no session has (`object-sessions.ts`). Made by the first write.
 */
import type { Database } from "../../storage/sqlite/database.ts";
import { EntryStore } from "../../storage/sqlite/entry-store.ts";
import { migrate } from "../../storage/sqlite/migrate.ts";
import { CONTEXT } from "../../storage/sqlite/migrations.ts";
import { type SessionHost, databaseOf } from "../host.ts";
import { numbered, tableName } from "./numbered.ts";
import { TEXTS, TextStore } from "./text-store.ts";

const OBJECT_NUMBER = 0;
/** Append-only. */
const MIGRATIONS = [CONTEXT, TEXTS];

export class ObjectContext {
  readonly #database: Database;
  #isOpen = false;

  /** Throws `invalid_argument` for a host without a database. */
  constructor(host: SessionHost) {
    this.#database = numbered(databaseOf(host).database, OBJECT_NUMBER);
  }

  #open(): void {
    if (!this.#isOpen) migrate(this.#database, MIGRATIONS);
    this.#isOpen = true;
  }

  /** False: nothing was ever written, and looking at it stores nothing. */
  #exists(): boolean {
    if (this.#isOpen) return true;
    const sql = "SELECT 1 FROM sqlite_master WHERE name = ?";
    if (this.#database.sql.exec(sql, tableName(OBJECT_NUMBER, "_migrations")).toArray().length > 0) this.#open();
    return this.#isOpen;
  }

  /** Null while there are none. */
  get texts(): TextStore | null {
    return this.#exists() ? new TextStore(this.#database.sql) : null;
  }

  /** Null while there are none. */
  get entries(): EntryStore | null {
    return this.#exists() ? new EntryStore(this.#database.sql) : null;
  }

  /** In one transaction. */
  write<T>(work: (stores: { readonly texts: TextStore; readonly entries: EntryStore }) => T): T {
    this.#open();
    const { sql } = this.#database;
    return this.#database.transactionSync(() => work({ texts: new TextStore(sql), entries: new EntryStore(sql) }));
  }
}

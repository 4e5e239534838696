/**
 * The sessions of one database: which number each has, and their tables, opened once an isolate however many
 * handles there are. Looking at a session that was never written stores nothing. docs/adr/0008.
 */
import type { Database } from "../../storage/sqlite/database.ts";
import { EventBus } from "../session-events.ts";
import type { HostDatabase } from "../host.ts";
import { numbered } from "./numbered.ts";
import { SessionTables } from "./session-tables.ts";

/** AUTOINCREMENT: the number of a session that is gone is no other's. */
const DIRECTORY =
  "CREATE TABLE IF NOT EXISTS sp_sessions (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE) STRICT";

export class ObjectSessions {
  static readonly #known = new WeakMap<object, ObjectSessions>();

  readonly database: Database;
  readonly events = new EventBus();
  readonly #open = new Map<string, SessionTables>();
  readonly #isShared: boolean;
  #hasDirectory = false;

  private constructor({ database, isShared }: Omit<HostDatabase, "key">) {
    this.database = database;
    this.#isShared = isShared;
  }

  /** The same for every handle on one database. */
  static of({ key, ...host }: HostDatabase): ObjectSessions {
    let sessions = ObjectSessions.#known.get(key);
    if (sessions === undefined) {
      sessions = new ObjectSessions(host);
      ObjectSessions.#known.set(key, sessions);
    }
    return sessions;
  }

  #numberOf(id: string): number | null {
    const { sql } = this.database;
    this.#hasDirectory ||= sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'sp_sessions'").toArray().length > 0;
    if (!this.#hasDirectory) return null;
    return sql.exec<{ number: number }>("SELECT number FROM sp_sessions WHERE id = ?", id).toArray()[0]?.number ?? null;
  }

  /** Null for a session that nothing was ever written to. */
  find(id: string): SessionTables | null {
    const open = this.#open.get(id);
    if (open !== undefined) return open;
    const number = this.#numberOf(id);
    if (number === null) return null;
    return this.#remember(id, this.#tablesOf(number));
  }

  #remember(id: string, tables: SessionTables): SessionTables {
    if (!this.#isShared) this.#open.set(id, tables);
    return tables;
  }

  /** The session's tables, made when they are not there. */
  create(id: string): SessionTables {
    const found = this.find(id);
    if (found !== null) return found;
    const tables = this.database.transactionSync(() => {
      const { sql } = this.database;
      sql.exec(DIRECTORY);
      const { number } = sql.exec<{ number: number }>("INSERT INTO sp_sessions (id) VALUES (?) RETURNING number", id).one();
      return this.#tablesOf(number);
    });
    return this.#remember(id, tables);
  }

  #tablesOf(number: number): SessionTables {
    return new SessionTables(numbered(this.database, number));
  }

  /** Leaves nothing behind: the tables go, not only their rows. */
  drop(id: string): void {
    const tables = this.find(id);
    if (tables === null) return;
    this.database.transactionSync(() => {
      tables.drop();
      this.database.sql.exec("DELETE FROM sp_sessions WHERE id = ?", id);
    });
    this.#open.delete(id);
  }
}

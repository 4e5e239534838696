/** The table of named sessions: what a manager knows of each, beside its messages. Instants are ISO 8601 texts. */
import type { Database, Sql } from "../../storage/sqlite/database.ts";
import { SessionError, unknownSession } from "../session-error.ts";

/** Columns as Cloudflare's Session API names them. `estimated_cost` is in the unit that the caller adds. */
export type SessionInfo = {
  id: string;
  name: string;
  parent_session_id: string | null;
  model: string | null;
  source: string | null;
  input_tokens: number;
  output_tokens: number;
  estimated_cost: number;
  /** Why nothing more is said here: `compaction` when the conversation goes on in another session. */
  end_reason: string | null;
  created_at: string;
  updated_at: string;
};

export type CreateOptions = {
  readonly parentSessionId?: string | undefined;
  readonly model?: string | undefined;
  readonly source?: string | undefined;
};

const COLUMNS = `id, name, parent_session_id, model, source, input_tokens, output_tokens, estimated_cost, end_reason,
  created_at, updated_at`;
/** changes: orders what happened in one millisecond. */
const TABLE = `CREATE TABLE IF NOT EXISTS sp_registry (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, parent_session_id TEXT, model TEXT, source TEXT,
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, estimated_cost REAL NOT NULL, end_reason TEXT,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, changes INTEGER NOT NULL) STRICT`;
const NEXT_CHANGE = "(SELECT coalesce(max(changes), 0) + 1 FROM sp_registry)";

const now = (): string => new Date().toISOString();

export class SessionRegistry {
  readonly #database: Database;
  #isMade = false;

  constructor(database: Database) {
    this.#database = database;
  }

  get #sql(): Sql {
    const { sql } = this.#database;
    if (!this.#isMade) sql.exec(TABLE);
    this.#isMade = true;
    return sql;
  }

  insert(id: string, name: string, { parentSessionId, model, source }: CreateOptions): SessionInfo {
    const at = now();
    const values = [id, name, parentSessionId ?? null, model ?? null, source ?? null, at, at];
    this.#sql.exec(
      `INSERT INTO sp_registry (${COLUMNS}, changes) VALUES (?, ?, ?, ?, ?, 0, 0, 0, NULL, ?, ?, ${NEXT_CHANGE})`,
      ...values,
    );
    return this.must(id);
  }

  find(id: string): SessionInfo | null {
    return this.#sql.exec<SessionInfo>(`SELECT ${COLUMNS} FROM sp_registry WHERE id = ?`, id).toArray()[0] ?? null;
  }

  /** Throws `unknown_session`. */
  must(id: string): SessionInfo {
    const info = this.find(id);
    if (info === null) throw unknownSession(id);
    return info;
  }

  /** The last one that was changed first. */
  list(): SessionInfo[] {
    return this.#sql.exec<SessionInfo>(`SELECT ${COLUMNS} FROM sp_registry ORDER BY updated_at DESC, changes DESC`).toArray();
  }

  #change(id: string, set: string, ...values: (string | number)[]): void {
    this.#sql.exec(`UPDATE sp_registry SET ${set} updated_at = ?, changes = ${NEXT_CHANGE} WHERE id = ?`, ...values, now(), id);
  }

  touch(id: string): void {
    this.#change(id, "");
  }

  rename(id: string, name: string): void {
    this.must(id);
    this.#change(id, "name = ?,", name);
  }

  end(id: string, reason: string): void {
    this.#change(id, "end_reason = ?,", reason);
  }

  /** Adds to the session's sums. Throws `invalid_usage` for what is negative or no amount. */
  addUsage(id: string, inputTokens: number, outputTokens: number, cost: number): void {
    this.must(id);
    const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0;
    if (!isCount(inputTokens) || !isCount(outputTokens) || !Number.isFinite(cost) || cost < 0)
      throw new SessionError("invalid_usage", "tokens are whole numbers of 0 or more, and so is a cost 0 or more");
    const set = "input_tokens = input_tokens + ?, output_tokens = output_tokens + ?, estimated_cost = estimated_cost + ?,";
    this.#change(id, set, inputTokens, outputTokens, cost);
  }

  delete(id: string): void {
    this.#sql.exec("DELETE FROM sp_registry WHERE id = ?", id);
  }
}

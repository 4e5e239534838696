/**
 * Texts by kind and name: what the blocks of a session say, and its frozen system prompt. Table `texts`. Holds
 * nothing in memory: what is read is what is stored. Calls are synchronous.
 */
import { utf8Bytes } from "../../messages/split-text.ts";
import type { Sql } from "../../storage/sqlite/database.ts";
import type { Migration } from "../../storage/sqlite/migrate.ts";
import { SessionError } from "../session-error.ts";

export const TEXTS: Migration = {
  id: "library_001_texts",
  sql: `CREATE TABLE [texts] (
    kind TEXT NOT NULL, name TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (kind, name)) STRICT, WITHOUT ROWID;`,
};

/** A block's name is its label; a session has one prompt, whose name is empty. */
export type TextKind = "block" | "prompt";

/** The platform's row has 2 MB: a text that a prompt holds is never near it. */
const MAX_TEXT_BYTES = 1_572_864;

/** Throws `over_limit`. */
export function checkSize(content: string): void {
  const bytes = utf8Bytes(content);
  if (bytes > MAX_TEXT_BYTES) throw new SessionError("over_limit", `the text exceeds ${MAX_TEXT_BYTES} bytes: ${bytes}`);
}

export class TextStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Null: there is none. The empty text is one. */
  read(kind: TextKind, name: string): string | null {
    const sql = "SELECT content FROM [texts] WHERE kind = ? AND name = ?";
    return this.#sql.exec<{ content: string }>(sql, kind, name).toArray()[0]?.content ?? null;
  }

  /** Throws `over_limit`. */
  write(kind: TextKind, name: string, content: string): void {
    checkSize(content);
    this.#sql.exec("INSERT OR REPLACE INTO [texts] (kind, name, content) VALUES (?, ?, ?)", kind, name, content);
  }

  delete(kind: TextKind, name: string): void {
    this.#sql.exec("DELETE FROM [texts] WHERE kind = ? AND name = ?", kind, name);
  }
}

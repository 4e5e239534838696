/**
 * The `edits` table: which messages were changed after they were written, when in the log, and by how much
 * the sums that are stored along every path through them are off. So neither an edit nor a deletion
 * rewrites what comes after it.
 */
import type { Sql } from "./database.ts";
import type { Range } from "../../tree/runs.ts";

export type Size = { readonly tokens: number; readonly bytes: number };
export const NO_SIZE: Size = { tokens: 0, bytes: 0 };

/** The rows of `edits` in ranges of a path, which come as one JSON parameter. */
const IN_RANGES = "json_each(?) range CROSS JOIN [edits] ON seq BETWEEN range.value ->> 'first' AND range.value ->> 'last'";

export class EditStore {
  readonly #sql: Sql;
  /** The last message with an edit, 0 without any: most sessions have none, and then nothing has to be asked. */
  #lastSeq: number | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  forget(): void {
    this.#lastSeq = undefined;
  }

  lastSeq(): number {
    this.#lastSeq ??= this.#sql.exec<{ last: number | null }>("SELECT max(seq) AS last FROM [edits]").one().last ?? 0;
    return this.#lastSeq;
  }

  /** `change`: what the paths through the message gained. */
  record(seq: number, at: number, change: Size): void {
    this.#sql.exec(
      `INSERT INTO [edits] (seq, at, tokens, bytes) VALUES (?, ?, ?, ?)
       ON CONFLICT (seq) DO UPDATE SET at = excluded.at, tokens = tokens + excluded.tokens, bytes = bytes + excluded.bytes`,
      ...[seq, at, change.tokens, change.bytes],
    );
    this.#lastSeq = Math.max(seq, this.lastSeq());
  }

  /** What the sums stored at the end of a path are off by. */
  sum(path: readonly Range[]): Size {
    if (this.lastSeq() === 0) return NO_SIZE;
    return this.#sql
      .exec<Size>(
        `SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(bytes), 0) AS bytes FROM ${IN_RANGES}`,
        JSON.stringify(path),
      )
      .one();
  }

  /** The place in the log of the message's last change, 0 when it is as it was written. */
  changedAt(seq: number): number {
    return this.#sql.exec<{ at: number }>("SELECT at FROM [edits] WHERE seq = ?", seq).toArray()[0]?.at ?? 0;
  }

  /** Whether a message of these ranges was edited or deleted after this place in the log. */
  changedSince(path: readonly Range[], after: number): boolean {
    if (this.lastSeq() === 0) return false;
    return this.#sql.exec(`SELECT 1 FROM ${IN_RANGES} WHERE at > ? LIMIT 1`, JSON.stringify(path), after).toArray().length > 0;
  }

  clear(): void {
    this.#sql.exec("DELETE FROM [edits]");
    this.#lastSeq = 0;
  }
}

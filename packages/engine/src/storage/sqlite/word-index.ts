/**
 * An FTS5 table: the words of texts by a number of the caller's, and nothing of the texts themselves. So a text
 * is never stored twice, and a change of one looks at no other.
 */
import { indexedText } from "../../search/message-text.ts";
import type { Sql } from "./database.ts";

/** A word in its place counts for more than that `begin*` begins one. Higher is better. */
const scoreIn = (table: string): string => `-bm25(${table}, 1.0, 0.5)`;

const SEARCH_INDEX = "[search_index]";
/** Of the index over messages. */
export const SCORE = scoreIn(SEARCH_INDEX);

export class WordIndex {
  readonly #sql: Sql;
  readonly #table: string;

  /** `table`: its name in brackets. */
  constructor(sql: Sql, table = SEARCH_INDEX) {
    this.#sql = sql;
    this.#table = table;
  }

  /** What a hit is worth: an expression for queries of the table. */
  get score(): string {
    return scoreIn(this.#table);
  }

  /** `ascii` leaves every character of other scripts in its word: what a word is, `search/words.ts` has decided. */
  create(): void {
    this.#sql.exec(
      `CREATE VIRTUAL TABLE IF NOT EXISTS ${this.#table}
       USING fts5(stems, spellings, tokenize = 'ascii', content = '', contentless_delete = 1)`,
    );
  }

  put(rowid: number, text: string): void {
    const { stems, spellings } = indexedText(text);
    if (stems === "") this.delete(rowid);
    else
      this.#sql.exec(`INSERT OR REPLACE INTO ${this.#table} (rowid, stems, spellings) VALUES (?, ?, ?)`, rowid, stems, spellings);
  }

  delete(rowid: number): void {
    this.#sql.exec(`DELETE FROM ${this.#table} WHERE rowid = ?`, rowid);
  }

  /**
   * A deleted row's words stay in the index's own blocks, with their places, until these are merged. One step of
   * that; false: nothing is left to do. `begins`: everything is merged, not only what it is time for.
   */
  merge(pages: number, begins: boolean): boolean {
    const changes = (): number => this.#sql.exec<{ count: number }>("SELECT total_changes() AS count").one().count;
    const before = changes();
    this.#sql.exec(`INSERT INTO ${this.#table} (${this.#table}, rank) VALUES ('merge', ?)`, begins ? -pages : pages);
    // The statement itself is one.
    return changes() - before > 1;
  }

  clear(): void {
    this.#sql.exec(`INSERT INTO ${this.#table} (${this.#table}) VALUES ('delete-all')`);
  }
}

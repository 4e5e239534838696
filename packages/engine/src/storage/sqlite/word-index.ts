/**
 * The FTS5 table `search_index`: the words of texts by a number of the caller's, and nothing of the texts
 * themselves. So a text is never stored twice, and a change of one looks at no other.
 */
import { indexedText } from "../../search/message-text.ts";
import type { Sql } from "./database.ts";

/** `ascii` leaves every character of other scripts in its word: what a word is, `search/words.ts` has decided. */
const CREATE = `CREATE VIRTUAL TABLE IF NOT EXISTS [search_index]
  USING fts5(stems, spellings, tokenize = 'ascii', content = '', contentless_delete = 1)`;
const INSERT = "INSERT OR REPLACE INTO [search_index] (rowid, stems, spellings) VALUES (?, ?, ?)";
const DELETE = "DELETE FROM [search_index] WHERE rowid = ?";

/** A word in its place counts for more than that `begin*` begins one. Higher is better. */
export const SCORE = "-bm25([search_index], 1.0, 0.5)";

export class WordIndex {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  create(): void {
    this.#sql.exec(CREATE);
  }

  put(rowid: number, text: string): void {
    const { stems, spellings } = indexedText(text);
    if (stems === "") this.delete(rowid);
    else this.#sql.exec(INSERT, rowid, stems, spellings);
  }

  delete(rowid: number): void {
    this.#sql.exec(DELETE, rowid);
  }

  clear(): void {
    this.#sql.exec("INSERT INTO [search_index] ([search_index]) VALUES ('delete-all')");
  }
}

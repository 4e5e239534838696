/**
 * Entries of context blocks by label and key, with an index over their words: tables `entries` and
 * `entry_index`. Writes are synchronous; a caller puts several in one transaction.
 */
import { MAX_PAGE_BYTES } from "../../history/recent-window.ts";
import { utf8Bytes } from "../../messages/split-text.ts";
import { matchExpression, parseQuery } from "../../search/query.ts";
import { estimateText } from "../../tokens/estimate.ts";
import type { Sql } from "./database.ts";
import { WordIndex } from "./word-index.ts";

export type StoredEntry = {
  readonly label: string;
  readonly key: string;
  readonly content: string;
  readonly description: string | null;
  /** Of the content. */
  readonly tokens: number;
  readonly revision: number;
  readonly created_at: number;
  readonly updated_at: number;
};

/** Epoch milliseconds. */
type Moments = Pick<StoredEntry, "created_at" | "updated_at">;

/** `description` left out: the one that is there stays. */
export type EntryText = { readonly content: string; readonly description?: string | null | undefined };

const COLUMNS = "label, key, content, description, tokens, revision, created_at, updated_at";

export class EntryStore {
  readonly #sql: Sql;
  readonly #words: WordIndex;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#words = new WordIndex(sql, "[entry_index]");
  }

  count(label: string): number {
    return this.#sql.exec<{ count: number }>("SELECT count(*) AS count FROM [entries] WHERE label = ?", label).one().count;
  }

  find(label: string, key: string): StoredEntry | null {
    const sql = `SELECT ${COLUMNS} FROM [entries] WHERE label = ? AND key = ?`;
    return this.#sql.exec<StoredEntry>(sql, label, key).toArray()[0] ?? null;
  }

  /** By key, after one: so many, or fewer where they are large. */
  list(label: string, limit: number, after = ""): { readonly entries: readonly StoredEntry[]; readonly more: boolean } {
    const sql = `SELECT ${COLUMNS} FROM [entries] WHERE label = ? AND key > ? ORDER BY key LIMIT ?`;
    const entries: StoredEntry[] = [];
    let bytes = 0;
    for (const entry of this.#sql.exec<StoredEntry>(sql, label, after, limit + 1)) {
      bytes += utf8Bytes(entry.content);
      if (entries.length > 0 && (entries.length === limit || bytes > MAX_PAGE_BYTES)) return { entries, more: true };
      entries.push(entry);
    }
    return { entries, more: false };
  }

  /** Keys and descriptions, without what the entries say. */
  *headings(label: string): Generator<Pick<StoredEntry, "key" | "description">> {
    const sql = "SELECT key, description FROM [entries] WHERE label = ? ORDER BY key";
    yield* this.#sql.exec<Pick<StoredEntry, "key" | "description">>(sql, label);
  }

  /** The same content and description again change nothing. */
  put(label: string, key: string, { content, description }: EntryText, now: number): StoredEntry {
    const before = this.find(label, key);
    const kept = description === undefined ? (before?.description ?? null) : description;
    if (before !== null && before.content === content && before.description === kept) return before;
    const { entry } = this.#sql
      .exec<{ entry: number }>(
        `INSERT INTO [entries] (${COLUMNS}) VALUES (?, ?, ?, ?, ?, 1, ?, ?)
         ON CONFLICT (label, key) DO UPDATE SET content = excluded.content, description = excluded.description,
         tokens = excluded.tokens, revision = revision + 1, updated_at = excluded.updated_at RETURNING entry`,
        ...[label, key, content, kept, estimateText(content), now, now],
      )
      .one();
    this.#words.create();
    this.#words.put(entry, `${key}\n${kept ?? ""}\n${content}`);
    const stored = this.find(label, key);
    if (stored === null) throw new Error("an entry that was just written is not there");
    return stored;
  }

  /** As it was elsewhere. */
  restore(label: string, key: string, text: EntryText, { created_at: created, updated_at: updated }: Moments): void {
    this.put(label, key, text, created);
    this.#sql.exec("UPDATE [entries] SET updated_at = ? WHERE label = ? AND key = ?", updated, label, key);
  }

  /** Labels under which there are entries. */
  labels(): string[] {
    const rows = this.#sql.exec<{ label: string }>("SELECT DISTINCT label FROM [entries]").toArray();
    return rows.map(({ label }) => label);
  }

  delete(label: string, key: string): boolean {
    const sql = "DELETE FROM [entries] WHERE label = ? AND key = ? RETURNING entry";
    const [gone] = this.#sql.exec<{ entry: number }>(sql, label, key).toArray();
    if (gone !== undefined) this.#words.delete(gone.entry);
    return gone !== undefined;
  }

  deleteAll(label: string): void {
    const sql = "DELETE FROM [entries] WHERE label = ? RETURNING entry";
    for (const { entry } of this.#sql.exec<{ entry: number }>(sql, label).toArray()) this.#words.delete(entry);
  }

  /** The best first: every word, in key, description or content. Any text is a query. */
  search(label: string, query: string, limit: number): StoredEntry[] {
    const expression = matchExpression(parseQuery(query));
    if (expression === null || this.count(label) === 0) return [];
    const columns = COLUMNS.replaceAll(/\w+/g, (column) => `[entries].${column}`);
    return this.#sql
      .exec<StoredEntry>(
        `SELECT ${columns} FROM [entry_index] JOIN [entries] ON [entries].entry = [entry_index].rowid
         WHERE [entry_index] MATCH ? AND [entries].label = ? ORDER BY ${this.#words.score} DESC, [entries].entry DESC LIMIT ?`,
        ...[expression, label, limit],
      )
      .toArray();
  }
}

/**
 * The index as its tables: which message has which words, as of which seq. Writes are synchronous; a caller
 * puts them in one transaction. A message's text stands under the newest change of it that has come; so the
 * order in which facts come, and how often, changes nothing.
 */
import type { RemovalFact, TextFact } from "@sessionplane/shared/queue/fact";
import type { IndexPlace, IndexQuery } from "@sessionplane/shared/rpc/tenant-search-rpc";
import { SCORE, WordIndex } from "@sessionplane/engine/storage/sqlite/word-index";

type TextRow = { readonly doc: number; readonly version: number };
type IndexedMessage = Pick<TextFact, "role" | "created_at">;
export type FoundText = IndexPlace & { readonly session_id: string; readonly seq: number };

/** What a message that was deleted before it came says of itself. */
const UNKNOWN: IndexedMessage = { role: "user", created_at: 0 };

const UPSERT = `INSERT INTO texts (session, seq, version, role, created_at, removed) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (session, seq) DO UPDATE SET version = excluded.version, role = excluded.role,
  created_at = excluded.created_at, removed = excluded.removed RETURNING doc`;

export class TextIndex {
  readonly #sql: SqlStorage;
  readonly #words: WordIndex;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#words = new WordIndex(sql);
  }

  create(): void {
    this.#words.create();
  }

  /** The message's number, when this change of it is news; null when a newer one is known. */
  #change(session: number, seq: number, version: number, { role, created_at }: IndexedMessage, removed: 0 | 1): number | null {
    const sql = "SELECT doc, version FROM texts WHERE session = ? AND seq = ?";
    const [stored] = this.#sql.exec<TextRow>(sql, session, seq).toArray();
    if (stored !== undefined && stored.version >= version) return null;
    return this.#sql.exec<{ doc: number }>(UPSERT, session, seq, version, role, created_at, removed).one().doc;
  }

  put(session: number, fact: TextFact): void {
    const doc = this.#change(session, fact.message_seq, fact.seq, fact, 0);
    if (doc !== null) this.#words.put(doc, fact.text);
  }

  /** Leaves a mark, so that an older text that comes later is not taken for news. */
  remove(session: number, fact: RemovalFact): void {
    for (const seq of fact.message_seqs) {
      const doc = this.#change(session, seq, fact.seq, UNKNOWN, 1);
      if (doc !== null) this.#words.delete(doc);
    }
  }

  /** What is before the first message that is left. Whether there was any. */
  removeBefore(session: number, firstSeq: number): boolean {
    const sql = "SELECT doc FROM texts WHERE session = ? AND seq < ?";
    const removed = this.#sql.exec<{ doc: number }>(sql, session, firstSeq).toArray();
    for (const { doc } of removed) this.#words.delete(doc);
    this.#sql.exec("DELETE FROM texts WHERE session = ? AND seq < ?", session, firstSeq);
    return removed.length > 0;
  }

  /** One step of forgetting the words of what was removed; false: it is done. */
  forget(pages: number, begins: boolean): boolean {
    return this.#words.merge(pages, begins);
  }

  /** `expression`: of the engine's `search/query.ts`. The best first, of equal ones the newest. */
  find(
    expression: string,
    { role, created, session_id: id, session_ids: ids, after, limit }: Omit<IndexQuery, "q">,
  ): FoundText[] {
    const conditions = [
      "search_index MATCH ?",
      "texts.created_at >= ? AND texts.created_at < ?",
      ...(role === undefined ? [] : ["texts.role = ?"]),
      ...(id === undefined ? [] : ["sessions.id = ?"]),
      ...(ids === undefined ? [] : ["sessions.id IN (SELECT value FROM json_each(?))"]),
    ];
    const values = [
      ...[expression, created.from, created.before],
      ...(role === undefined ? [] : [role]),
      ...(id === undefined ? [] : [id]),
      ...(ids === undefined ? [] : [JSON.stringify(ids)]),
    ];
    const hits = `SELECT texts.doc AS doc, ${SCORE} AS score, sessions.id AS session_id, texts.seq AS seq FROM search_index
      JOIN texts ON texts.doc = search_index.rowid JOIN sessions ON sessions.number = texts.session
      WHERE ${conditions.join(" AND ")}`;
    const from = after === undefined ? "" : "WHERE score < ? OR (score = ? AND doc < ?)";
    return this.#sql
      .exec<FoundText>(
        `SELECT doc, score, session_id, seq FROM (${hits}) ${from} ORDER BY score DESC, doc DESC LIMIT ?`,
        ...values,
        ...(after === undefined ? [] : [after.score, after.score, after.doc]),
        limit,
      )
      .toArray();
  }
}

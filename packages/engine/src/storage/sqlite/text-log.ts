/** What the log says of messages that changed, for a copy of their texts elsewhere. Reads only. */

/** A message that was edited or deleted, and the place in the log of its last change. */
export type Edit = { readonly seq: number; readonly at: number };

export class TextLog {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The place of the last edit, deletion, clear or choice of a leaf; 0: there was none. */
  changedSeq(): number {
    return this.#sql.exec<{ seq: number }>("SELECT changed_seq AS seq FROM tree").one().seq;
  }

  /** What was edited or deleted after a place, in order. Reads all edits, if there is one: no write pays for an index. */
  editsAfter(at: number): Edit[] {
    if (this.changedSeq() <= at) return [];
    return this.#sql.exec<Edit>("SELECT seq, at FROM edits WHERE at > ? ORDER BY at, seq", at).toArray();
  }

  /** The first message that is left; null when none is. */
  firstSeq(): number | null {
    return this.#sql.exec<{ seq: number | null }>("SELECT min(seq) AS seq FROM messages").one().seq;
  }
}

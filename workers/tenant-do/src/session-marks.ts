/** How far each session's log is in the index, and which of its messages can't be any more. */
export type SessionMark = { readonly number: number; readonly first_seq: number; readonly through_seq: number };

type Stretch = { readonly after_seq: number; readonly to_seq: number };

export class SessionMarks {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  find(id: string): SessionMark | null {
    const sql = "SELECT number, first_seq, through_seq FROM sessions WHERE id = ?";
    return this.#sql.exec<SessionMark>(sql, id).toArray()[0] ?? null;
  }

  open(id: string): SessionMark {
    this.#sql.exec("INSERT INTO sessions (id, first_seq, through_seq) VALUES (?, 0, 0) ON CONFLICT DO NOTHING", id);
    const mark = this.find(id);
    if (mark === null) throw new Error("a session that was opened is there");
    return mark;
  }

  /** Rises only: what is cleared never comes back. */
  raiseFirst(number: number, firstSeq: number): void {
    this.#sql.exec("UPDATE sessions SET first_seq = max(first_seq, ?) WHERE number = ?", firstSeq, number);
  }

  /** `(after, to]` is applied. The mark goes on over everything that follows without a gap. */
  applied({ number, through_seq: before }: SessionMark, { after_seq: after, to_seq: to }: Stretch): void {
    if (to <= before) return;
    if (after > before) {
      this.#sql.exec("INSERT INTO early VALUES (?, ?, ?) ON CONFLICT DO NOTHING", number, after, to);
      return;
    }
    let through = to;
    const early = "SELECT after_seq, to_seq FROM early WHERE session = ? ORDER BY after_seq";
    for (const one of this.#sql.exec<Stretch>(early, number).toArray()) {
      if (one.after_seq > through) break;
      through = Math.max(through, one.to_seq);
    }
    this.#sql.exec("DELETE FROM early WHERE session = ? AND after_seq <= ?", number, through);
    this.#sql.exec("UPDATE sessions SET through_seq = ? WHERE number = ?", through, number);
  }
}

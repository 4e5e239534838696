/** The table `erasure`: that the session was erased, when, and what it held. */
import { type ErasedContent, erasedContentSchema } from "@sessionplane/shared/erasure";
import { newId } from "@sessionplane/shared/ids";

const COUNTS = `SELECT (SELECT count(*) FROM messages) AS messages, (SELECT count(*) FROM overlays) AS overlays,
  (SELECT count(*) FROM jobs) AS jobs, (SELECT count(*) FROM blocks) AS blocks, (SELECT count(*) FROM entries) AS entries,
  (SELECT count(*) FROM media) AS attachments`;

type ErasureRow = {
  readonly id: string;
  readonly removed: string;
  readonly erased_at: number;
  readonly completed_at: number | null;
};

export class ErasureStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  countContent(): ErasedContent {
    return erasedContentSchema.parse(this.#sql.exec(COUNTS).one());
  }

  find(): ErasureRow | null {
    return this.#sql.exec<ErasureRow>("SELECT id, removed, erased_at, completed_at FROM erasure").toArray()[0] ?? null;
  }

  begin(removed: ErasedContent, now: number): void {
    const sql = "INSERT INTO erasure (only, id, removed, erased_at) VALUES (1, ?, ?, ?)";
    this.#sql.exec(sql, newId("erasure"), JSON.stringify(removed), now);
  }

  complete(now: number): void {
    this.#sql.exec("UPDATE erasure SET completed_at = ? WHERE completed_at IS NULL", now);
  }
}

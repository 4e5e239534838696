/** The `overlays` table. */
import { formatInstant } from "@sessionplane/shared/fields";
import { type Overlay, type Retention, retentionSchema } from "@sessionplane/shared/overlay";

export type StoredOverlay = {
  seq: number;
  id: string;
  from_seq: number;
  to_seq: number;
  from_id: string;
  to_id: string;
  summary: string;
  messages: number;
  tokens_before: number;
  tokens_after: number;
  retention: string | null;
  model: string | null;
  job_id: string | null;
  created_at: number;
};

export type NewOverlay = Omit<StoredOverlay, "retention"> & { readonly retention: Retention | null };

const COLUMNS =
  "seq, id, from_seq, to_seq, from_id, to_id, summary, messages, tokens_before, tokens_after, retention, model, job_id, created_at";

export class OverlayStore {
  readonly #sql: SqlStorage;
  /** Few, and every read needs them: kept in memory, read again after each write. */
  #all: readonly StoredOverlay[] | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Oldest first. */
  all(): readonly StoredOverlay[] {
    this.#all ??= this.#sql.exec<StoredOverlay>(`SELECT ${COLUMNS} FROM overlays ORDER BY seq`).toArray();
    return this.#all;
  }

  forget(): void {
    this.#all = undefined;
  }

  insert(overlay: NewOverlay): void {
    const {
      seq,
      id,
      from_seq,
      to_seq,
      from_id,
      to_id,
      summary,
      messages,
      tokens_before,
      tokens_after,
      model,
      job_id,
      created_at,
    } = overlay;
    const retention = overlay.retention === null ? null : JSON.stringify(overlay.retention);
    this.#sql.exec(
      `INSERT INTO overlays (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[
        seq,
        id,
        from_seq,
        to_seq,
        from_id,
        to_id,
        summary,
        messages,
        tokens_before,
        tokens_after,
        retention,
        model,
        job_id,
        created_at,
      ],
    );
    this.forget();
  }
}

export const toOverlay = (row: StoredOverlay): Overlay => ({
  id: row.id,
  from_id: row.from_id,
  to_id: row.to_id,
  summary: row.summary,
  messages: row.messages,
  tokens_before: row.tokens_before,
  tokens_after: row.tokens_after,
  retention: row.retention === null ? null : retentionSchema.parse(JSON.parse(row.retention)),
  model: row.model,
  job_id: row.job_id,
  created_at: formatInstant(row.created_at),
});

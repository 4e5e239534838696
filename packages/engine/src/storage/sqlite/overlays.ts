/** The `overlays` table. */
import type { Sql } from "./database.ts";
import { formatInstant } from "@sessionplane/shared/fields";
import { formatMoney } from "@sessionplane/shared/money";
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
  /** 1: a message that it stands for was edited since. */
  stale: number;
};

export type NewOverlay = Omit<StoredOverlay, "retention" | "stale"> & { readonly retention: Retention | null };

const COLUMNS = [
  "seq",
  "id",
  "from_seq",
  "to_seq",
  "from_id",
  "to_id",
  "summary",
  "messages",
  "tokens_before",
  "tokens_after",
  "retention",
  "model",
  "job_id",
  "created_at",
  "stale",
] as const satisfies readonly (keyof StoredOverlay)[];
const SELECT = `SELECT ${COLUMNS.join(", ")} FROM [overlays] ORDER BY seq`;
const INSERT = `INSERT INTO [overlays] (${COLUMNS.join(", ")}) VALUES (${COLUMNS.map(() => "?").join(", ")})`;

export class OverlayStore {
  readonly #sql: Sql;
  /** Few, and every read needs them: kept in memory, read again after each write. */
  #all: readonly StoredOverlay[] | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Oldest first. */
  all(): readonly StoredOverlay[] {
    this.#all ??= this.#sql.exec<StoredOverlay>(SELECT).toArray();
    return this.#all;
  }

  find(id: string): StoredOverlay | undefined {
    return this.all().find((overlay) => overlay.id === id);
  }

  forget(): void {
    this.#all = undefined;
  }

  insert(overlay: NewOverlay): void {
    const retention = overlay.retention === null ? null : JSON.stringify(overlay.retention);
    const row: StoredOverlay = { ...overlay, retention, stale: 0 };
    this.#sql.exec(INSERT, ...COLUMNS.map((column) => row[column]));
    this.forget();
  }

  /** A message that it stands for was edited: it goes on standing, and says so. `tokens`: what the edit added. */
  markStale(id: string, tokens: number): void {
    this.#sql.exec("UPDATE [overlays] SET stale = 1, tokens_before = tokens_before + ? WHERE id = ?", tokens, id);
    this.forget();
  }

  delete(id: string): void {
    this.#sql.exec("DELETE FROM [overlays] WHERE id = ?", id);
    this.forget();
  }

  clear(): void {
    this.#sql.exec("DELETE FROM [overlays]");
    this.forget();
  }
}

/** `billedNano`: what the calls cost that made it; null when nobody was called, or there is no price. */
export const toOverlay = (row: StoredOverlay, billedNano: number | null): Overlay => ({
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
  cost: billedNano === null ? null : formatMoney(billedNano),
  stale: row.stale === 1,
  created_at: formatInstant(row.created_at),
});

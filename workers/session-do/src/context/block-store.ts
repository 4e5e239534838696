/** The `blocks` table: what each block is and, for those with a text, what it says. In the order in which they were made. */
import * as z from "zod";
import { blockKindSchema, skillsOwnerSchema, whenChangedSchema } from "@sessionplane/shared/block";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import { utf8Bytes } from "@sessionplane/engine/messages/split-text";

/** What is not asked for by itself. */
const settingsSchema = z.object({
  owner: skillsOwnerSchema.nullable(),
  prefix: z.string().nullable(),
  keys: z.array(z.string()).nullable(),
  /** Whether models may write to it. */
  writable: z.boolean(),
  when_changed: whenChangedSchema,
});
export type BlockSettings = z.infer<typeof settingsSchema>;

const rowSchema = z.object({
  label: z.string(),
  kind: blockKindSchema,
  description: z.string().nullable(),
  content: z.string(),
  tokens: z.int(),
  max_tokens: z.int().nullable(),
  settings: z
    .string()
    .transform((json): unknown => JSON.parse(json))
    .pipe(settingsSchema),
  revision: z.int(),
  created_at: z.int(),
  updated_at: z.int(),
});
export type BlockRow = z.infer<typeof rowSchema>;

/** What is written; the rest follows from it. */
export type BlockDraft = Omit<BlockRow, "tokens" | "revision" | "created_at" | "updated_at">;

const COLUMNS = "label, kind, description, content, tokens, max_tokens, settings, revision, created_at, updated_at";

export class BlockStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  all(): BlockRow[] {
    return this.#sql
      .exec(`SELECT ${COLUMNS} FROM blocks ORDER BY position, label`)
      .toArray()
      .map((row) => rowSchema.parse(row));
  }

  find(label: string): BlockRow | null {
    const [row] = this.#sql.exec(`SELECT ${COLUMNS} FROM blocks WHERE label = ?`, label).toArray();
    return row === undefined ? null : rowSchema.parse(row);
  }

  /** UTF-8 bytes of all texts but this block's. */
  bytesBeside(label: string): number {
    const sql = "SELECT content FROM blocks WHERE label <> ?";
    return this.#sql
      .exec<{ content: string }>(sql, label)
      .toArray()
      .reduce((sum, { content }) => sum + utf8Bytes(content), 0);
  }

  /** A new block comes last; one that is there keeps its place and gets another revision. */
  put({ label, kind, description, content, max_tokens, settings }: BlockDraft, now: number): void {
    this.#sql.exec(
      `INSERT INTO blocks (position, ${COLUMNS})
       VALUES ((SELECT coalesce(max(position), 0) + 1 FROM blocks), ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)
       ON CONFLICT (label) DO UPDATE SET kind = excluded.kind, description = excluded.description, content = excluded.content,
         tokens = excluded.tokens, max_tokens = excluded.max_tokens, settings = excluded.settings, revision = revision + 1,
         updated_at = excluded.updated_at`,
      ...[label, kind, description, content, estimateText(content), max_tokens, JSON.stringify(settings), now, now],
    );
  }

  /** As it was elsewhere. */
  restore(
    draft: BlockDraft,
    { position, created_at, updated_at }: { position: number; created_at: number; updated_at: number },
  ): void {
    this.put(draft, created_at);
    this.#sql.exec("UPDATE blocks SET position = ?, updated_at = ? WHERE label = ?", position, updated_at, draft.label);
  }

  clear(): void {
    this.#sql.exec("DELETE FROM blocks");
  }

  delete(label: string): void {
    this.#sql.exec("DELETE FROM blocks WHERE label = ?", label);
  }
}

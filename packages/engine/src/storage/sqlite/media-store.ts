/**
 * Bytes that left their messages: kept once each, here up to a size and in R2 beyond it, and each message's
 * references to them. What no message refers to is gone at once here, and from R2 by `media_trash`.
 */
import type { Sql } from "./database.ts";
import type { AttachmentId } from "@sessionplane/shared/ids";
import type { Media, MediaRef } from "../../messages/media.ts";

/** Larger ones go to R2. */
export const MAX_STORED_BYTES = 262_144;

/** Bytes and where they are. */
export type StoredMedia = {
  readonly id: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly r2_key: string | null;
};

type RefRow = { seq: number; path: string; prefix: string; media_type: string; media_id: string };

const toRef = (row: RefRow): MediaRef => ({
  path: JSON.parse(row.path) as (string | number)[],
  prefix: row.prefix,
  mediaType: row.media_type,
  id: row.media_id as AttachmentId,
});
const REF = "seq, path, prefix, media_type, media_id";

export class MediaStore {
  readonly #sql: Sql;
  /** Most sessions have none, and then nothing has to be asked. */
  #any: boolean | undefined;
  #nextDiscard: number | null | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  forget(): void {
    this.#any = undefined;
    this.#nextDiscard = undefined;
  }

  isEmpty(): boolean {
    this.#any ??= this.#sql.exec("SELECT 1 FROM [media] LIMIT 1").toArray().length > 0;
    return !this.#any;
  }

  find(id: string): StoredMedia | null {
    return this.#sql.exec<StoredMedia>("SELECT id, sha256, bytes, r2_key FROM [media] WHERE id = ?", id).toArray()[0] ?? null;
  }

  /** Null when they are in R2, or not there. */
  content(id: string): Uint8Array | null {
    const row = this.#sql.exec<{ content: ArrayBuffer | null }>("SELECT content FROM [media] WHERE id = ?", id).toArray()[0];
    return row?.content ? new Uint8Array(row.content) : null;
  }

  /** A reference to these bytes: one under this media type, when there is one. */
  refTo(id: string, mediaType: string): MediaRef | null {
    const to = `SELECT ${REF} FROM [media_refs] WHERE media_id = ?`;
    const [row] = this.#sql.exec<RefRow>(`${to} AND media_type = ? LIMIT 1`, id, mediaType).toArray();
    const [any = row] = row === undefined ? this.#sql.exec<RefRow>(`${to} LIMIT 1`, id).toArray() : [row];
    return any === undefined ? null : toRef(any);
  }

  #isReferred(id: string): boolean {
    return this.#sql.exec("SELECT 1 FROM [media_refs] WHERE media_id = ? LIMIT 1", id).toArray().length > 0;
  }

  refsOf(seq: number): MediaRef[] {
    if (this.isEmpty()) return [];
    return this.#sql.exec<RefRow>(`SELECT ${REF} FROM [media_refs] WHERE seq = ?`, seq).toArray().map(toRef);
  }

  /** How many bytes a message's references add up to. */
  bytesOf(seq: number): number {
    if (this.isEmpty()) return 0;
    const sql = "SELECT coalesce(sum(bytes), 0) AS bytes FROM [media_refs] JOIN [media] ON id = media_id WHERE seq = ?";
    return this.#sql.exec<{ bytes: number }>(sql, seq).one().bytes;
  }

  /** Keeps bytes. `r2Key`: where they are, when they are not kept here. */
  keep({ id, sha256, bytes }: Media, r2Key: string | null): void {
    this.#sql.exec(
      "INSERT INTO [media] (id, sha256, bytes, content, r2_key) VALUES (?, ?, ?, ?, ?)",
      ...[id, sha256, bytes.byteLength, r2Key === null ? bytes : null, r2Key],
    );
    if (r2Key !== null) this.discarded([r2Key]);
    this.#any = true;
  }

  /** The message refers to these and to nothing else. */
  refer(seq: number, refs: readonly MediaRef[], now: number): void {
    const before = this.refsOf(seq);
    if (before.length > 0) this.#sql.exec("DELETE FROM [media_refs] WHERE seq = ?", seq);
    for (const { path, prefix, mediaType, id } of refs) {
      this.#sql.exec(
        `INSERT INTO [media_refs] (${REF}) VALUES (?, ?, ?, ?, ?)`,
        ...[seq, JSON.stringify(path), prefix, mediaType, id],
      );
    }
    for (const id of new Set(before.map((ref) => ref.id))) this.#dropUnused(id, now);
  }

  #dropUnused(id: string, now: number): void {
    if (this.#isReferred(id)) return;
    const key = this.find(id)?.r2_key ?? null;
    this.#sql.exec("DELETE FROM [media] WHERE id = ?", id);
    if (key !== null) this.discard(key, now);
    this.#any = undefined;
  }

  clear(now: number): void {
    this.#sql.exec("INSERT OR REPLACE INTO [media_trash] SELECT r2_key, ? FROM [media] WHERE r2_key IS NOT NULL", now);
    this.#sql.exec("DELETE FROM [media_refs]");
    this.#sql.exec("DELETE FROM [media]");
    this.#any = false;
    this.#nextDiscard = undefined;
  }

  /** An object in R2 to be deleted from a moment on, unless `keep` has claimed it by then. */
  discard(r2Key: string, dueAt: number): void {
    this.#sql.exec("INSERT OR REPLACE INTO [media_trash] (r2_key, due_at) VALUES (?, ?)", r2Key, dueAt);
    this.#nextDiscard = undefined;
  }

  /** When there is something to delete in R2 next; null when there is nothing. */
  nextDiscard(): number | null {
    if (this.#nextDiscard === undefined) {
      const sql = "SELECT min(due_at) AS due FROM [media_trash]";
      this.#nextDiscard = this.#sql.exec<{ due: number | null }>(sql).one().due;
    }
    return this.#nextDiscard;
  }

  countDiscards(): number {
    return this.#sql.exec<{ count: number }>("SELECT count(*) AS count FROM [media_trash]").one().count;
  }

  dueDiscards(now: number, limit: number): string[] {
    return this.#sql
      .exec<{ r2_key: string }>("SELECT r2_key FROM [media_trash] WHERE due_at <= ? LIMIT ?", now, limit)
      .toArray()
      .map((row) => row.r2_key);
  }

  discarded(r2Keys: readonly string[]): void {
    for (const key of r2Keys) this.#sql.exec("DELETE FROM [media_trash] WHERE r2_key = ?", key);
    this.#nextDiscard = undefined;
  }
}

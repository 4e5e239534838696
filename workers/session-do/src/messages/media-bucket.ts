/**
 * Large attachments in R2, under the session's own prefix. An object is noted before it is uploaded and
 * deleted when nothing refers to it, so that a death in between leaves none behind.
 */
import { type Problem, problem } from "@sessionplane/shared/problem";
import type { Message } from "@sessionplane/shared/message";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { type Media, decodeExactly, encodingAt, mediaOf, mediaPlaces, replaceAt } from "@sessionplane/engine/messages/media";
import { MAX_STORED_BYTES, type MediaRef } from "@sessionplane/engine/storage/sqlite/media-store";
import { logError } from "../log.ts";
import type { SessionStore } from "../session-store.ts";
import { NO_UPLOADS, type Uploads, isLarge } from "./media-intake.ts";

/** Longer than any upload takes; then it belongs to a write that died. */
const UPLOAD_MS = 60 * 60 * 1000;
/** What R2 deletes in one call. */
const MAX_DELETIONS = 1_000;

const NOT_STORED = problem("unavailable", "The attachments could not be stored.");

/** Base64 takes four characters for three bytes. */
const MIN_LARGE_TEXT = (MAX_STORED_BYTES * 4) / 3;

/** Whether any text in a value is long enough to be a large attachment: asked of every write. */
function holdsLongText(value: unknown): boolean {
  if (typeof value === "string") return value.length > MIN_LARGE_TEXT;
  if (typeof value !== "object" || value === null) return false;
  for (const key in value) if (holdsLongText((value as Readonly<Record<string, unknown>>)[key])) return true;
  return false;
}

function* largeMedia(messages: readonly Pick<Message, "parts">[]): Generator<Media> {
  for (const { parts } of messages) {
    if (!holdsLongText(parts)) continue;
    for (const place of mediaPlaces(parts)) {
      const encoding = place.text.length > MIN_LARGE_TEXT ? encodingAt(place) : null;
      const bytes = encoding === null ? null : decodeExactly(place.text.slice(encoding.prefix.length));
      if (encoding === null || bytes === null) continue;
      const media = mediaOf(bytes, encoding.mediaType);
      if (isLarge(media)) yield media;
    }
  }
}

export class MediaBucket {
  readonly #bucket: R2Bucket;

  constructor(bucket: R2Bucket) {
    this.#bucket = bucket;
  }

  /** Whether these messages hold nothing that has to be uploaded. */
  static hasNothingFor(messages: readonly Pick<Message, "parts">[]): boolean {
    return !messages.some(({ parts }) => holdsLongText(parts));
  }

  /** Uploads the large attachments of messages that the session does not hold yet. */
  async upload(store: SessionStore, messages: readonly Pick<Message, "parts">[], now: number): Promise<Result<Uploads, Problem>> {
    const uploads = new Map<string, string>();
    try {
      for (const media of largeMedia(messages)) {
        if (uploads.has(media.id) || store.media.find(media.id) !== null) continue;
        const { tenant_id, session_id } = store.row;
        const key = `${tenant_id}/${session_id}/media/${crypto.randomUUID()}`;
        store.media.discard(key, now + UPLOAD_MS);
        uploads.set(media.id, key);
        await this.#bucket.put(key, media.bytes, { sha256: media.sha256 });
        store.faults.hit("media:uploaded");
      }
    } catch (error) {
      logError("upload_failed", error, { session_id: store.row.session_id });
      return err(NOT_STORED);
    }
    return ok(uploads.size === 0 ? NO_UPLOADS : uploads);
  }

  /** Uploads that the write had no use for may go. */
  release(store: SessionStore, uploads: Uploads, now: number): void {
    for (const [id, key] of uploads) if (store.media.find(id)?.r2_key !== key) store.media.discard(key, now);
  }

  /** Deletes what nothing refers to. Called by the alarm; fails as a whole and is repeated. */
  async collect(store: SessionStore, now: number): Promise<void> {
    const keys = store.media.dueDiscards(now, MAX_DELETIONS);
    if (keys.length === 0) return;
    await this.#bucket.delete(keys);
    store.media.discarded(keys);
  }

  /** A message with its bytes in place, exactly as they came. */
  async inline<T extends { readonly json: string }>(store: SessionStore, item: T, seq: number): Promise<T> {
    const refs = store.media.refsOf(seq);
    return refs.length === 0 ? item : { ...item, json: await this.#fill(store, item.json, refs) };
  }

  async #fill(store: SessionStore, json: string, refs: readonly MediaRef[]): Promise<string> {
    const texts = new Map<MediaRef["path"], string>();
    for (const { path, prefix, id } of refs) {
      const bytes = await this.#bytesOf(store, id);
      if (bytes !== null) texts.set(path, prefix + Buffer.from(bytes).toString("base64"));
    }
    return JSON.stringify(replaceAt(JSON.parse(json) as object, texts));
  }

  async #bytesOf(store: SessionStore, id: string): Promise<Uint8Array | null> {
    const key = store.media.find(id)?.r2_key ?? null;
    if (key === null) return store.media.content(id);
    const object = await this.#bucket.get(key);
    return object === null ? null : new Uint8Array(await object.arrayBuffer());
  }
}

/**
 * Large attachments in R2, under the session's own prefix. An object is noted before it is uploaded and
 * deleted when nothing refers to it, so that a death in between leaves none behind.
 */
import { linksTo } from "@sessionplane/shared/attachment";
import type { SessionId, TenantId } from "@sessionplane/shared/ids";
import { type Message, messageSchema } from "@sessionplane/shared/message";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { NO_UPLOADS, type Uploads, isLarge } from "@sessionplane/engine/messages/intake";
import {
  type Media,
  type MediaRef,
  decodeExactly,
  encodingAt,
  mediaOf,
  mediaPlaces,
  replaceAt,
  valueAt,
} from "@sessionplane/engine/messages/media";
import { MAX_STORED_BYTES, type MediaStore } from "@sessionplane/engine/storage/sqlite/media-store";
import type { FaultPoints } from "../fault-points.ts";
import { logError } from "../log.ts";
import type { SessionStore } from "../session-store.ts";

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

/** Whether something in these messages may have to be uploaded. */
export const mayHoldLarge = (messages: readonly Pick<Message, "parts">[]): boolean =>
  messages.some(({ parts }) => holdsLongText(parts));

/** Whose attachments they are. */
type Owner = { readonly tenant_id: TenantId; readonly session_id: SessionId };
const prefixOf = ({ tenant_id, session_id }: Owner): string => `${tenant_id}/${session_id}/media/`;

/** A message with what it takes to put its bytes in place: read in one turn, so that nothing changes between. */
type Filling<T> = {
  readonly item: T;
  readonly refs: readonly MediaRef[];
  /** By their id: the bytes, or the key in R2. */
  readonly sources: ReadonlyMap<string, Uint8Array | string | null>;
};

export class MediaBucket {
  readonly #bucket: R2Bucket;
  readonly #faults: FaultPoints;

  constructor(bucket: R2Bucket, faults: FaultPoints) {
    this.#bucket = bucket;
    this.#faults = faults;
  }

  /** Uploads the large attachments of messages that the session does not hold yet. */
  async upload(
    store: MediaStore,
    owner: Owner,
    messages: readonly Pick<Message, "parts">[],
    now: number,
  ): Promise<Result<Uploads, Problem>> {
    const uploads = new Map<string, string>();
    try {
      for (const media of largeMedia(messages)) {
        if (uploads.has(media.id) || store.find(media.id) !== null) continue;
        const key = `${prefixOf(owner)}${crypto.randomUUID()}`;
        store.discard(key, now + UPLOAD_MS);
        uploads.set(media.id, key);
        await this.#bucket.put(key, media.bytes, { sha256: media.sha256 });
        this.#faults.hit("media:uploaded");
      }
    } catch (error) {
      logError("upload_failed", error, { session_id: owner.session_id });
      this.release(store, uploads, now);
      return err(NOT_STORED);
    }
    return ok(uploads.size === 0 ? NO_UPLOADS : uploads);
  }

  /** Uploads that the write had no use for may go. */
  release(store: MediaStore, uploads: Uploads, now: number): void {
    for (const [id, key] of uploads) if (store.find(id)?.r2_key !== key) store.discard(key, now);
  }

  /** Deletes everything of a session. */
  async empty(owner: Owner): Promise<void> {
    for (let more = true; more;) {
      const { objects, truncated } = await this.#bucket.list({ prefix: prefixOf(owner), limit: MAX_DELETIONS });
      if (objects.length > 0) await this.#bucket.delete(objects.map((object) => object.key));
      more = truncated;
    }
  }

  /** Deletes what nothing refers to. Called by the alarm; fails as a whole and is repeated. */
  async collect(store: SessionStore, now: number): Promise<void> {
    const keys = store.media.dueDiscards(now, MAX_DELETIONS);
    if (keys.length === 0) return;
    await this.#bucket.delete(keys);
    store.media.discarded(keys);
  }

  /** The items with their bytes in place, exactly as they came. `seqOf`: null for what is no stored message. */
  inline<T extends { readonly json: string }>(
    store: SessionStore,
    items: readonly T[],
    seqOf: (item: T) => number | null,
  ): Promise<T[]> {
    const fillings = items.map((item): Filling<T> => {
      const seq = seqOf(item);
      const refs = seq === null ? [] : store.media.refsOf(seq);
      const sources = new Map(refs.map(({ id }) => [id, store.media.find(id)?.r2_key ?? store.media.content(id)]));
      return { item, refs, sources };
    });
    return this.#fillAll(fillings);
  }

  async #fillAll<T extends { readonly json: string }>(fillings: readonly Filling<T>[]): Promise<T[]> {
    const filled: T[] = [];
    for (const { item, refs, sources } of fillings) {
      filled.push(refs.length === 0 ? item : { ...item, json: await this.#fill(item.json, refs, sources) });
    }
    return filled;
  }

  async #fill(json: string, refs: readonly MediaRef[], sources: Filling<unknown>["sources"]): Promise<string> {
    const base64 = new Map<string, string | null>();
    for (const [id, source] of sources) {
      const bytes = typeof source === "string" ? await this.#download(source) : source;
      base64.set(id, bytes === null ? null : Buffer.from(bytes).toString("base64"));
    }
    const message = messageSchema.parse(JSON.parse(json));
    const texts = new Map<MediaRef["path"], string>();
    for (const { path, prefix, id } of refs) {
      const text = base64.get(id) ?? null;
      // What was deleted since it was read stays a link, and what was cut from the message stays away.
      if (text !== null && linksTo(valueAt(message, path), id)) texts.set(path, prefix + text);
    }
    return JSON.stringify(replaceAt(message, texts));
  }

  async #download(key: string): Promise<Uint8Array | null> {
    const object = await this.#bucket.get(key);
    return object === null ? null : new Uint8Array(await object.arrayBuffer());
  }
}

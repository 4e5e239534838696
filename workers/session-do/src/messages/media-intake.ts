/** Messages on their way in: the bytes that they carry leave them, and links stand in their place. */
import { formatLink, parseLink } from "@sessionplane/shared/attachment";
import type { Message } from "@sessionplane/shared/message";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import {
  type Media,
  type MediaPlace,
  decodeExactly,
  encodingAt,
  isBase64,
  mayHoldMedia,
  mediaOf,
  mediaPlaces,
  replaceAt,
} from "@sessionplane/engine/messages/media";
import { MAX_STORED_BYTES, type MediaRef } from "@sessionplane/engine/storage/sqlite/media-store";
import { type MessageDraft, draftOf } from "@sessionplane/engine/messages/draft";
import { estimateMessage } from "@sessionplane/engine/tokens/estimate";
import type { SessionStore } from "../session-store.ts";

/** Where the bytes that were uploaded for a write are in R2, by their id. */
export type Uploads = ReadonlyMap<string, string>;
export const NO_UPLOADS: Uploads = new Map();

type Found = { readonly ref: MediaRef; readonly media: Media | null };

const pointerOf = ({ path }: MediaPlace): string => `/${path.join("/")}`;
const isFilePart = (message: Message, { path }: MediaPlace): boolean =>
  path.length === 3 && message.parts[Number(path[1])]?.type === "file";

/** Bytes at a place; null when it holds none, or some that could not be put back exactly. */
function bytesAt(message: Message, place: MediaPlace, at: string): Result<Found | null, Problem> {
  const encoding = encodingAt(place);
  if (encoding === null) return ok(null);
  const base64 = place.text.slice(encoding.prefix.length);
  const bytes = decodeExactly(base64);
  if (bytes !== null) {
    const media = mediaOf(bytes, encoding.mediaType);
    return ok({ ref: { path: place.path, id: media.id, ...encoding }, media });
  }
  if (!isFilePart(message, place) || isBase64(base64)) return ok(null);
  return err(fieldProblem("broken_media", at + pointerOf(place), "is not base64"));
}

/** A link of ours that comes back: the session must hold what it names. */
function linkAt(store: SessionStore, place: MediaPlace, at: string): Result<Found | null, Problem> {
  const link = parseLink(place.text);
  if (link === null) return ok(null);
  const refs = link.sessionId === store.row.session_id ? store.media.refsTo(link.id) : [];
  const known = refs.find((ref) => ref.mediaType === link.mediaType) ?? refs[0];
  if (known === undefined)
    return err(fieldProblem("unknown_attachment", at + pointerOf(place), "is not an attachment of this session"));
  const isUrl = place.path.at(-1) === "url";
  const prefix = !isUrl ? "" : known.prefix === "" ? `data:${known.mediaType};base64,` : known.prefix;
  return ok({ ref: { path: place.path, id: link.id, mediaType: known.mediaType, prefix }, media: null });
}

/** What will be stored for a message. `at`: its pointer in the request, for refusals. */
export function draftFor(store: SessionStore, message: Message, at: string): Result<MessageDraft, Problem> {
  const json = JSON.stringify(message);
  if (!mayHoldMedia(json)) return ok(draftOf(message, json));
  const found: Found[] = [];
  for (const place of mediaPlaces(message.parts)) {
    const bytes = bytesAt(message, place, at);
    if (!bytes.ok) return bytes;
    const one = bytes.value === null ? linkAt(store, place, at) : bytes;
    if (!one.ok) return one;
    if (one.value !== null) found.push(one.value);
  }
  if (found.length === 0) return ok(draftOf(message, json));
  const refs = found.map(({ ref }) => ref);
  const sessionId = store.row.session_id;
  const linked = replaceAt(message, new Map(refs.map((ref) => [ref.path, formatLink({ ...ref, sessionId })])));
  const media = found.flatMap((one) => one.media ?? []);
  // Tokens are those of what the model gets, which is the whole message.
  return ok(draftOf(linked, JSON.stringify(linked), { refs, media, tokens: estimateMessage(message) }));
}

export const isLarge = ({ bytes }: Media): boolean => bytes.byteLength > MAX_STORED_BYTES;

const LOST_UPLOAD = problem("unavailable", "An attachment was deleted while this write was under way: repeat it.");

/** Whether every large attachment of a draft is there or was uploaded. */
export const checkUploads = (store: SessionStore, draft: MessageDraft, uploads: Uploads): Problem | null =>
  draft.media.every((one) => !isLarge(one) || uploads.has(one.id) || store.media.find(one.id) !== null) ? null : LOST_UPLOAD;

/** Keeps what left a message, once each, and the message's references to it. In the transaction of its row. */
export function keepMedia(store: SessionStore, seq: number, { media, refs }: MessageDraft, uploads: Uploads, now: number): void {
  for (const one of media) {
    if (store.media.find(one.id) === null) store.media.keep(one, isLarge(one) ? (uploads.get(one.id) ?? null) : null);
  }
  store.media.refer(seq, refs, now);
}

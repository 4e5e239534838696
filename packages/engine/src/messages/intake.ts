/** Messages on their way in: the bytes that they carry leave them, and links stand in their place. */
import { formatLink, parseLink } from "@sessionplane/shared/attachment";
import type { SessionId } from "@sessionplane/shared/ids";
import type { Message } from "@sessionplane/shared/message";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { MAX_STORED_BYTES, type MediaStore } from "../storage/sqlite/media-store.ts";
import { estimateMedia } from "../tokens/estimate.ts";
import { type MessageDraft, draftOf } from "./draft.ts";
import {
  type Media,
  type MediaPlace,
  type MediaRef,
  base64Length,
  decodeExactly,
  encodingAt,
  isBase64,
  mayHoldMedia,
  mediaOf,
  mediaPlaces,
  replaceAt,
} from "./media.ts";

/** A read gives a message whole: with everything in place it must fit what two workers may hand each other. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** A reference is a row: what a client names in it must be small. */
const MAX_REF_LENGTH = 1_024;
/** Each is two rows. */
const MAX_ATTACHMENTS = 1_000;
const MAX_MEDIA_TYPE_LENGTH = 200;

/** Where the bytes that were uploaded for a write are in R2, by their id. */
export type Uploads = ReadonlyMap<string, string>;
export const NO_UPLOADS: Uploads = new Map();

/** Whose message it is, where it is stored already (null: nowhere), and its pointer in the request. */
export type Intake = { readonly sessionId: SessionId; readonly seq: number | null; readonly at: string };

type Found = { readonly ref: MediaRef; readonly bytes: number; readonly media: Media | null };

const pointerOf = ({ path }: MediaPlace): string => `/${path.join("/")}`;
const isFilePart = (message: Message, { path }: MediaPlace): boolean =>
  path.length === 3 && message.parts[Number(path[1])]?.type === "file";

/** Bytes at a place; null when it holds none, or some that could not be put back exactly. */
function bytesAt(message: Message, place: MediaPlace, { at }: Intake): Result<Found | null, Problem> {
  const encoding = encodingAt(place);
  if (encoding === null) return ok(null);
  const { prefix, mediaType } = encoding;
  if (prefix.length + JSON.stringify(place.path).length > MAX_REF_LENGTH || mediaType.length > MAX_MEDIA_TYPE_LENGTH)
    return ok(null);
  const base64 = place.text.slice(prefix.length);
  const bytes = decodeExactly(base64);
  if (bytes !== null) {
    const media = mediaOf(bytes, mediaType);
    return ok({ ref: { path: place.path, id: media.id, prefix, mediaType }, bytes: bytes.byteLength, media });
  }
  if (!isFilePart(message, place) || isBase64(base64)) return ok(null);
  return err(fieldProblem("broken_media", at + pointerOf(place), "is not base64"));
}

/** The references that the message has where it is stored, by their place: read once, and only when a link comes back. */
function ownRefs(store: MediaStore, seq: number | null): (path: MediaRef["path"]) => MediaRef | undefined {
  let own: ReadonlyMap<string, MediaRef> | undefined;
  return (path) => {
    own ??= new Map((seq === null ? [] : store.refsOf(seq)).map((ref) => [JSON.stringify(ref.path), ref]));
    return own.get(JSON.stringify(path));
  };
}

/** A link of ours that comes back: the session must hold what it names. */
function linkAt(
  store: MediaStore,
  place: MediaPlace,
  own: (path: MediaRef["path"]) => MediaRef | undefined,
  { sessionId, at }: Intake,
): Result<Found | null, Problem> {
  const link = parseLink(place.text);
  if (link === null) return ok(null);
  const stored = link.sessionId === sessionId ? store.find(link.id) : null;
  const before = own(place.path);
  const known = before?.id === link.id ? before : store.refTo(link.id, link.mediaType);
  if (stored === null || known === null)
    return err(fieldProblem("unknown_attachment", at + pointerOf(place), "is not an attachment of this session"));
  const isUrl = place.path.at(-1) === "url";
  const prefix = !isUrl ? "" : known.prefix === "" ? `data:${known.mediaType};base64,` : known.prefix;
  return ok({ ref: { path: place.path, id: link.id, mediaType: known.mediaType, prefix }, bytes: stored.bytes, media: null });
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

function withLinks(message: Message, found: readonly Found[], { sessionId }: Intake): MessageDraft {
  const refs = found.map(({ ref }) => ref);
  const linked = replaceAt(message, new Map(refs.map((ref) => [ref.path, formatLink({ ...ref, sessionId })])));
  return draftOf(linked, JSON.stringify(linked), {
    refs,
    media: found.flatMap(({ media }) => media ?? []),
    tokens: sum(found.map(({ ref, bytes }) => estimateMedia(ref.mediaType, bytes))),
    inlineBytes: sum(found.map(({ ref, bytes }) => ref.prefix.length + base64Length(bytes))),
  });
}

/** What will be stored for a message, or why it can't be. */
export function draftFor(store: MediaStore, message: Message, intake: Intake): Result<MessageDraft, Problem> {
  const json = JSON.stringify(message);
  const found: Found[] = [];
  const own = ownRefs(store, intake.seq);
  for (const place of mayHoldMedia(json) ? mediaPlaces(message.parts) : []) {
    const bytes = bytesAt(message, place, intake);
    if (!bytes.ok) return bytes;
    const one = bytes.value === null ? linkAt(store, place, own, intake) : bytes;
    if (!one.ok) return one;
    if (one.value !== null) found.push(one.value);
  }
  if (found.length > MAX_ATTACHMENTS)
    return err(fieldProblem("message_too_large", intake.at, `a message has at most ${MAX_ATTACHMENTS} attachments`));
  const draft = found.length === 0 ? draftOf(message, json) : withLinks(message, found, intake);
  if (draft.bytes + draft.left.inlineBytes <= MAX_MESSAGE_BYTES) return ok(draft);
  return err(
    fieldProblem("message_too_large", intake.at, `a message has at most ${MAX_MESSAGE_BYTES} bytes, its attachments in place`),
  );
}

export const isLarge = ({ bytes }: Media): boolean => bytes.byteLength > MAX_STORED_BYTES;

/** Bytes that storing a draft adds to the database. */
export const bytesStored = (store: MediaStore, { bytes, left }: MessageDraft): number =>
  bytes + sum(left.media.map((one) => (isLarge(one) || store.find(one.id) !== null ? 0 : one.bytes.byteLength)));

const LOST_UPLOAD = problem("unavailable", "An attachment was deleted while this write was under way: repeat it.");

/** Whether every large attachment of a draft is there or was uploaded. */
export const checkUploads = (store: MediaStore, { left }: MessageDraft, uploads: Uploads): Problem | null =>
  left.media.every((one) => !isLarge(one) || uploads.has(one.id) || store.find(one.id) !== null) ? null : LOST_UPLOAD;

/** Keeps what left a message, once each, and the message's references to it. In the transaction of its row. */
export function keepMedia(store: MediaStore, seq: number, { left }: MessageDraft, uploads: Uploads, now: number): void {
  for (const one of left.media) {
    if (store.find(one.id) === null) store.keep(one, isLarge(one) ? (uploads.get(one.id) ?? null) : null);
  }
  store.refer(seq, left.refs, now);
}

/** Whether a message's references are these already. */
export const hasRefs = (store: MediaStore, seq: number, { left }: MessageDraft): boolean =>
  left.refs.length === 0 && store.isEmpty() ? true : refsText(store.refsOf(seq)) === refsText(left.refs);

const refsText = (refs: readonly MediaRef[]): string =>
  refs
    .map(({ path, id, mediaType, prefix }) => JSON.stringify([path, id, mediaType, prefix]))
    .toSorted()
    .join("\n");

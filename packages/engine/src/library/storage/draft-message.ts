/**
 * A message on its way into the tables and back. Bytes in it (data URLs, base64) are kept once each beside the
 * tree; what stands in their place means nothing: only the session's own reference puts bytes back.
 */
import type { Message } from "@sessionplane/shared/message";
import { type MessageDraft, draftOf } from "../../messages/draft.ts";
import {
  type Media,
  type MediaRef,
  base64Length,
  decodeExactly,
  encodingAt,
  mayHoldMedia,
  mediaOf,
  mediaPlaces,
  replaceAt,
} from "../../messages/media.ts";
import type { MessageRead } from "../../storage/sqlite/message-rows.ts";
import type { MediaStore } from "../../storage/sqlite/media-store.ts";
import { estimateMedia } from "../../tokens/estimate.ts";

/** One row holds them: more stay in the message, whose text goes over as many rows as it needs. */
const MAX_MEDIA_BYTES = 1_572_864;

/** `json` is the message as it was given, and as a read gives it again. */
export type Drafted = { readonly draft: MessageDraft; readonly json: string };

function mediaIn(message: Message): { readonly ref: MediaRef; readonly media: Media }[] {
  return mediaPlaces(message.parts).flatMap((place) => {
    const encoding = encodingAt(place);
    const bytes = encoding === null ? null : decodeExactly(place.text.slice(encoding.prefix.length));
    if (encoding === null || bytes === null || bytes.byteLength > MAX_MEDIA_BYTES) return [];
    const media = mediaOf(bytes, encoding.mediaType);
    return [{ ref: { path: place.path, id: media.id, ...encoding }, media }];
  });
}

/** Throws the `TypeError` of `JSON.stringify` for what JSON can't say. */
export function draftMessage(message: Message): Drafted {
  const json = JSON.stringify(message);
  const found = mayHoldMedia(json) ? mediaIn(message) : [];
  if (found.length === 0) return { draft: draftOf(message, json), json };
  const stored = replaceAt(message, new Map(found.map(({ ref }) => [ref.path, ref.id])));
  const left = {
    refs: found.map(({ ref }) => ref),
    media: found.map(({ media }) => media),
    tokens: found.reduce((sum, { media }) => sum + estimateMedia(media.mediaType, media.bytes.byteLength), 0),
    inlineBytes: found.reduce((sum, { ref, media }) => sum + ref.prefix.length + base64Length(media.bytes.byteLength), 0),
  };
  return { draft: draftOf(stored, JSON.stringify(stored), left), json };
}

/** The message as it was given. */
export function restore(media: MediaStore, read: Pick<MessageRead, "seq" | "json">): Message {
  const message: Message = JSON.parse(read.json);
  const refs = media.refsOf(read.seq);
  if (refs.length === 0) return message;
  const texts = refs.flatMap(({ path, prefix, id }): [MediaRef["path"], string][] => {
    const bytes = media.content(id);
    return bytes === null ? [] : [[path, prefix + Buffer.from(bytes).toString("base64")]];
  });
  return replaceAt(message, new Map(texts));
}

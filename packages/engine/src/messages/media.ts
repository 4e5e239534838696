/**
 * Bytes inside a message: found, taken out, put back exactly. Pure. Bytes are what a part carries as base64:
 * a `url` that is a data URL of anything but text, or `data` beside a media type that is none. Source of the
 * rule: Cloudflare's session messages.
 */
import { createHash } from "node:crypto";
import { type AttachmentId, attachmentIdOf } from "@sessionplane/shared/ids";
import type { Message } from "@sessionplane/shared/message";

/** Deeper in a tool's output nothing is looked for. */
const MAX_DEPTH = 8;

export type Media = {
  readonly id: AttachmentId;
  readonly sha256: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
};

/** Where in a message bytes belong, and what stands before their base64 there. */
export type MediaRef = {
  readonly path: readonly (string | number)[];
  readonly prefix: string;
  readonly mediaType: string;
  readonly id: AttachmentId;
};

/** A value that may be bytes or a link to them, and where it stands: `["parts", 2, "url"]`. */
export type MediaPlace = {
  readonly path: readonly (string | number)[];
  readonly text: string;
  readonly mediaType: string | null;
};

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null;

function* placesIn(value: unknown, path: readonly (string | number)[]): Generator<MediaPlace> {
  if (!isObject(value) || path.length > MAX_DEPTH) return;
  const mediaType = typeof value["mediaType"] === "string" ? value["mediaType"] : null;
  for (const [key, member] of Object.entries(value)) {
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    if (typeof member !== "string") yield* placesIn(member, at);
    else if (key === "url" || (key === "data" && mediaType !== null)) yield { path: at, text: member, mediaType };
  }
}

/** The places of a message's parts at which bytes or links to them may stand. */
export const mediaPlaces = (parts: Message["parts"]): MediaPlace[] => [...placesIn(parts, ["parts"])];

/** Whether a message's JSON may hold any: cheap, asked of every message that is written. */
export const mayHoldMedia = (json: string): boolean =>
  json.includes(";base64,") || json.includes('"mediaType"') || json.includes('"/v1/attachments/');

const DATA_URL = /^data:([^;,]*)(?:;[^,]*)?;base64,/;
const isText = (mediaType: string): boolean => /^text\//i.test(mediaType);

/** How a place writes its bytes: what stands before the base64, and the type; null when it holds none. */
export function encodingAt({
  path,
  text,
  mediaType,
}: MediaPlace): { readonly prefix: string; readonly mediaType: string } | null {
  if (path.at(-1) === "data") return mediaType === null || isText(mediaType) ? null : { prefix: "", mediaType };
  const match = DATA_URL.exec(text);
  const type = match?.[1] ?? "";
  return match === null || isText(type) ? null : { prefix: match[0], mediaType: type };
}

/** The bytes, when writing them as base64 again gives exactly this text; null otherwise. */
export function decodeExactly(base64: string): Uint8Array | null {
  const bytes = Buffer.from(base64, "base64");
  return bytes.length > 0 && bytes.toString("base64") === base64 ? bytes : null;
}

/** Characters of base64 for so many bytes. */
export const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4;

/** Base64 that a lenient reader takes too: spaces, no padding. */
export const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/_-]+={0,2}$/.test(text.replaceAll(/\s/g, ""));

export function mediaOf(bytes: Uint8Array, mediaType: string): Media {
  const digest = createHash("sha256").update(bytes).digest();
  return { id: attachmentIdOf(digest), sha256: digest.toString("hex"), mediaType, bytes };
}

/** What stands at a place of a message; undefined when the way there ends before. */
export const valueAt = (message: Message, path: MediaRef["path"]): unknown =>
  path.reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), message);

function replaceOne(value: unknown, path: readonly (string | number)[], text: string): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return text;
  if (Array.isArray(value)) return value.with(Number(key), replaceOne(value[Number(key)], rest, text));
  return isObject(value) ? { ...value, [key]: replaceOne(value[key], rest, text) } : value;
}

/** The message with the texts at these places replaced. Only what leads there is copied. */
export function replaceAt(message: Message, texts: ReadonlyMap<readonly (string | number)[], string>): Message {
  let { parts } = message;
  for (const [[, ...path], text] of texts) parts = replaceOne(parts, path, text) as Message["parts"];
  return { ...message, parts };
}

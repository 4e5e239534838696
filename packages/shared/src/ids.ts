/**
 * Ids: a prefix that names the kind, and a UUIDv7 in base32 (TypeID). The only place that makes or
 * reads one. Callers may also bring ids of their own for messages; those are plain strings.
 */
import { TypeID, typeid } from "typeid-js";
import * as z from "zod";

const PREFIXES = {
  tenant: "ten",
  apiKey: "key",
  session: "ses",
  message: "msg",
  overlay: "ovl",
  job: "job",
  usage: "use",
  price: "prc",
  attachment: "att",
  request: "req",
  audit: "aud",
  operation: "opn",
  erasure: "era",
  alias: "als",
  archive: "arc",
} as const;

export type IdKind = keyof typeof PREFIXES;
export type Id<K extends IdKind> = string & { readonly __id: K };
export type TenantId = Id<"tenant">;
export type ApiKeyId = Id<"apiKey">;
export type SessionId = Id<"session">;
export type OverlayId = Id<"overlay">;
export type JobId = Id<"job">;
export type AttachmentId = Id<"attachment">;
export type PriceId = Id<"price">;

/** A new id, sortable by the time it was made. */
export function newId<K extends IdKind>(kind: K): Id<K> {
  const text: string = typeid<string>(PREFIXES[kind]).toString();
  return text as Id<K>;
}

/** An id of another kind from the same UUID: a claim made before its resource names the resource. */
export function idOfSameMoment<K extends IdKind>(kind: K, other: string): Id<K> {
  const text: string = `${PREFIXES[kind]}_${other.slice(other.lastIndexOf("_") + 1)}`;
  return text as Id<K>;
}

/** When an id was made, in epoch milliseconds: the first 48 bits of a UUIDv7. */
export const momentOf = (id: string): number =>
  Number.parseInt(TypeID.fromString(id).toUUID().replaceAll("-", "").slice(0, 12), 16);

/** The id that bytes have: the first half of their SHA-256, so that equal bytes have one. */
export function attachmentIdOf(sha256: Uint8Array): AttachmentId {
  const text: string = TypeID.fromUUIDBytes(PREFIXES.attachment, sha256.subarray(0, 16)).toString();
  return text as AttachmentId;
}

/** The id when `text` is a well-formed one of this kind, else null. Never throws. */
export function parseId<K extends IdKind>(kind: K, text: string): Id<K> | null {
  try {
    TypeID.fromString(text, PREFIXES[kind]);
    return text as Id<K>;
  } catch {
    return null;
  }
}

const idSchema = <K extends IdKind>(kind: K) =>
  z
    .string()
    .refine((text) => parseId(kind, text) !== null, { message: `must be an id that begins with ${PREFIXES[kind]}_` })
    .transform((text) => text as Id<K>);

export const tenantIdSchema = idSchema("tenant");
export const sessionIdSchema = idSchema("session");
export const priceIdSchema = idSchema("price");
export const apiKeyIdSchema = idSchema("apiKey");
export const attachmentIdSchema = idSchema("attachment");
export const jobIdSchema = idSchema("job");
export const overlayIdSchema = idSchema("overlay");

const OVERLAY_MESSAGE = "compaction_";

/** Ids that a read makes up for overlays, and ids of overlays: no message may carry one. */
const RESERVED_MESSAGE_ID = /^(compaction_|ovl_)/;
export const isReservedMessageId = (id: string): boolean => RESERVED_MESSAGE_ID.test(id);

/** The id under which an overlay stands in a history. */
export const overlayMessageId = (id: OverlayId): string => `${OVERLAY_MESSAGE}${id}`;
/** The overlay's id, from it or from that of its message. */
export const overlayIdOf = (id: string): string => (id.startsWith(OVERLAY_MESSAGE) ? id.slice(OVERLAY_MESSAGE.length) : id);

/**
 * Attachments: bytes that left a message, and the link that stands in it in their place. A link names the
 * session that holds them: what is one session's is not another's, though the bytes be equal.
 */
import { type AttachmentId, type SessionId, parseId } from "./ids.ts";

const PATH = "/v1/attachments/";

export type AttachmentLink = { readonly id: AttachmentId; readonly sessionId: SessionId; readonly mediaType: string };

export const formatLink = ({ id, sessionId, mediaType }: AttachmentLink): string =>
  `${PATH}${id}?session_id=${sessionId}&media_type=${encodeURIComponent(mediaType)}`;

/** Whether a value is a link to these bytes, whole. */
export function linksTo(value: unknown, id: string): boolean {
  const link = typeof value === "string" ? parseLink(value) : null;
  return link?.id === id && formatLink(link) === value;
}

/** Null for any other text: it may be a path of another's API. */
export function parseLink(text: string): AttachmentLink | null {
  if (!text.startsWith(PATH)) return null;
  const [path = "", query = ""] = text.slice(PATH.length).split("?");
  const parameters = new URLSearchParams(query);
  const id = parseId("attachment", path);
  const sessionId = parseId("session", parameters.get("session_id") ?? "");
  return id === null || sessionId === null ? null : { id, sessionId, mediaType: parameters.get("media_type") ?? "" };
}

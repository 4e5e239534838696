/**
 * Messages as the library takes and gives them: the AI SDK's `UIMessage`, with `createdAt` as a `Date`. Pure.
 * Source of the shape: the `SessionMessage` of Cloudflare's Session API.
 */
import { isReservedMessageId } from "@sessionplane/shared/ids";
import { type Message, messageSchema } from "@sessionplane/shared/message";
import { SessionError } from "./session-error.ts";

/** Of any kind that the AI SDK knows, or of the caller's own. */
export type SessionMessagePart = {
  type: string;
  text?: string;
  reasoning?: string;
  toolCallId?: string;
  toolName?: string;
  state?: string;
  input?: unknown;
  output?: unknown;
  result?: unknown;
  mediaType?: string;
  url?: string;
  filename?: string;
  [field: string]: unknown;
};

/** `role`: system, user, assistant or tool. Fields that are not named here are kept as they are. */
export type SessionMessage = {
  id: string;
  role: string;
  parts: SessionMessagePart[];
  createdAt?: Date;
  metadata?: unknown;
};

/** What may be handed in: a `UIMessage` of the AI SDK is one, with whatever type its parts have. */
export type SessionMessageInput = {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly ({ readonly type: string } | SessionMessagePart)[];
  readonly createdAt?: Date | string | undefined;
  readonly metadata?: unknown;
};

/** Throws `invalid_message` or `reserved_message_id`. */
export function toMessage(input: SessionMessageInput): Message {
  const parsed = messageSchema.safeParse(input);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new SessionError(
      "invalid_message",
      `${issue?.path.join(".") || "the message"}: ${issue?.message ?? "is not a message"}`,
    );
  }
  const { id } = parsed.data;
  if (id === "" || !id.isWellFormed()) throw new SessionError("invalid_message", "id: must be a text that is not empty");
  if (isReservedMessageId(id))
    throw new SessionError("reserved_message_id", `${id}: ids that begin with compaction_ or ovl_ are reserved`);
  return parsed.data;
}

const asDate = (value: unknown): Date | null => {
  const date = typeof value === "string" ? new Date(value) : null;
  return date === null || Number.isNaN(date.getTime()) ? null : date;
};

/** A stored message as it is given: its `createdAt` is the `Date` that it was, or is left out. */
export function toSessionMessage({ createdAt, ...message }: Message): SessionMessage {
  const date = asDate(createdAt);
  return date === null ? message : { ...message, createdAt: date };
}

/** The message as it reads once it was stored, without storing it. */
export const asStored = (json: string): Message => messageSchema.parse(JSON.parse(json));

/** True for the message that stands in a history for the range that a compaction summarised. */
export const isCompactionMessage = (message: { readonly id: string }): boolean => message.id.startsWith("compaction_");

/**
 * A message: the AI SDK's `UIMessage`, stored and returned verbatim. Fields that we don't know stay.
 * Source: `UIMessage` of `ai`; `createdAt` and role `tool` are of Cloudflare's session messages.
 */
import * as z from "zod";
import { isReservedMessageId } from "./ids.ts";

export const MAX_MESSAGE_ID_LENGTH = 128;
export const MAX_MESSAGES_PER_APPEND = 1_000;

export const roleSchema = z.enum(["system", "user", "assistant", "tool"]);
export type Role = z.infer<typeof roleSchema>;

export const partSchema = z.looseObject({ type: z.string().min(1).max(128) }).meta({ id: "MessagePart" });

export const messageIdSchema = z
  .string()
  .min(1)
  .max(MAX_MESSAGE_ID_LENGTH)
  .refine((id) => !isReservedMessageId(id), { message: "ids that begin with compaction_ or ovl_ are reserved" });

export const messageSchema = z
  .looseObject({
    id: z.string(),
    role: roleSchema,
    parts: z.array(partSchema),
    metadata: z.unknown().optional(),
  })
  .meta({ id: "Message" });
export type Message = z.infer<typeof messageSchema>;

/** As a caller sends it: the id may be left to us. */
export const newMessageSchema = messageSchema.extend({ id: messageIdSchema.optional() }).meta({ id: "NewMessage" });

/** Who wrote it: a key that may write as server, or an untrusted client. */
export const sourceSchema = z.enum(["server", "client"]);
export type Source = z.infer<typeof sourceSchema>;

export const messageMetaSchema = z
  .object({
    id: z.string(),
    parent_id: z.string().nullable(),
    seq: z.int(),
    token_estimate: z.int(),
    bytes: z.int(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "MessageMeta" });
export type MessageMeta = z.infer<typeof messageMetaSchema>;

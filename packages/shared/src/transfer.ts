/**
 * A session as lines of NDJSON: one of the session itself, one of each message with its parent, one of each
 * overlay. They may come in any order; `position` is the order in which they were written.
 */
import * as z from "zod";
import { instantSchema } from "./fields.ts";
import { parseId } from "./ids.ts";
import { messageIdSchema, newMessageSchema } from "./message.ts";
import { retentionSchema } from "./overlay.ts";
import { sessionSettingsSchema } from "./session.ts";

export const TRANSFER_FORMAT = "sessionplane/1";

const position = z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional();

/** What of a session's settings travels: ids of its own are another session's. */
export const transferSettingsSchema = sessionSettingsSchema.omit({ external_id: true, parent_session_id: true });

export const sessionLineSchema = z.strictObject({
  kind: z.literal("session"),
  format: z.literal(TRANSFER_FORMAT),
  session: transferSettingsSchema,
  leaf_id: z.string().max(128).nullable(),
  created_at: instantSchema,
});

export const messageLineSchema = z.strictObject({
  kind: z.literal("message"),
  position,
  parent_id: z.string().min(1).max(128).nullable(),
  created_at: instantSchema.optional(),
  message: newMessageSchema.safeExtend({ id: messageIdSchema }),
});

const overlayId = z
  .string()
  .refine((text) => parseId("overlay", text) !== null, { message: "must be an id that begins with ovl_" });

export const overlayLineSchema = z.strictObject({
  kind: z.literal("overlay"),
  position,
  overlay: z.strictObject({
    id: overlayId,
    from_id: z.string().min(1).max(128),
    to_id: z.string().min(1).max(128),
    summary: z.string().min(1).max(1_000_000),
    retention: retentionSchema.nullable(),
    model: z.string().max(200).nullable(),
    stale: z.boolean(),
    created_at: instantSchema,
  }),
});

export const transferLineSchema = z.discriminatedUnion("kind", [sessionLineSchema, messageLineSchema, overlayLineSchema]);
export type TransferLine = z.infer<typeof transferLineSchema>;
export type SessionLine = z.infer<typeof sessionLineSchema>;
export type MessageLine = z.infer<typeof messageLineSchema>;
export type OverlayLine = z.infer<typeof overlayLineSchema>;

/**
 * A session as lines of NDJSON: one of the session itself, one of each context block and entry, of each message
 * with its parent, of each overlay, of the prompt and of each loaded skill. They may come in any order;
 * `position` is the order in which they were written.
 */
import * as z from "zod";
import { instantSchema } from "./fields.ts";
import { parseId } from "./ids.ts";
import { blockLabelSchema, newBlockSchema, putEntrySchema } from "./block.ts";
import { messageIdSchema, newMessageSchema, toolCallIdSchema } from "./message.ts";
import { skillKeySchema } from "./skill.ts";
import { retentionSchema, summarySchema } from "./overlay.ts";
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
  /** Calls of load_context in it whose documents were unloaded since. */
  unloaded: z.array(toolCallIdSchema).max(1_000).optional(),
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
    summary: summarySchema,
    retention: retentionSchema.nullable(),
    model: z.string().max(200).nullable(),
    stale: z.boolean(),
    created_at: instantSchema,
  }),
});

const moments = { created_at: instantSchema, updated_at: instantSchema };

export const blockLineSchema = z.strictObject({ kind: z.literal("block"), position, ...moments, block: newBlockSchema });

export const entryLineSchema = z.strictObject({
  kind: z.literal("entry"),
  ...moments,
  entry: putEntrySchema.safeExtend({ label: blockLabelSchema, key: skillKeySchema }),
});

export const promptLineSchema = z.strictObject({ kind: z.literal("prompt"), prompt: z.string(), frozen_at: instantSchema });

/** As a message's call names them: it may have been made where labels and keys are others than here. */
const loadedNameSchema = z.string().max(1_024);

export const skillLineSchema = z.strictObject({
  kind: z.literal("skill"),
  label: loadedNameSchema,
  key: loadedNameSchema,
  version: z.int().min(1).nullable(),
  sha256: z.string().max(64).nullable(),
  tokens: z.int().min(0),
  loaded_at: instantSchema,
});

export const transferLineSchema = z.discriminatedUnion("kind", [
  sessionLineSchema,
  blockLineSchema,
  entryLineSchema,
  messageLineSchema,
  overlayLineSchema,
  promptLineSchema,
  skillLineSchema,
]);
export type TransferLine = z.infer<typeof transferLineSchema>;
export type BlockLine = z.infer<typeof blockLineSchema>;
export type EntryLine = z.infer<typeof entryLineSchema>;
export type PromptLine = z.infer<typeof promptLineSchema>;
export type SkillLine = z.infer<typeof skillLineSchema>;
/** What of a line is no message and no summary. */
export type ContextLine = BlockLine | EntryLine | PromptLine | SkillLine;
export type SessionLine = z.infer<typeof sessionLineSchema>;
export type MessageLine = z.infer<typeof messageLineSchema>;
export type OverlayLine = z.infer<typeof overlayLineSchema>;

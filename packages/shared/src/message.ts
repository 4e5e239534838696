/**
 * A message: the AI SDK's `UIMessage`, stored and returned verbatim. Fields that we don't know stay.
 * Source: `UIMessage` of `ai`; `createdAt` and role `tool` are of Cloudflare's session messages.
 */
import * as z from "zod";
import { isReservedMessageId } from "./ids.ts";

export const MAX_MESSAGE_ID_LENGTH = 128;
export const MAX_MESSAGES_PER_APPEND = 1_000;
const MAX_PARTS_PER_MESSAGE = 10_000;
const MAX_TOOL_CALLS_PER_MESSAGE = 1_000;

export const roleSchema = z.enum(["system", "user", "assistant", "tool"]);
export type Role = z.infer<typeof roleSchema>;

export const partSchema = z.looseObject({ type: z.string().min(1).max(128) }).meta({ id: "MessagePart" });

export const messageIdSchema = z
  .string()
  .min(1)
  .max(MAX_MESSAGE_ID_LENGTH)
  .refine((id) => !isReservedMessageId(id), { message: "ids that begin with compaction_ or ovl_ are reserved" })
  .refine((id) => id !== "." && id !== "..", { message: "no URL can name it" });

export const messageSchema = z
  .looseObject({
    id: z.string(),
    role: roleSchema,
    parts: z.array(partSchema),
    metadata: z.unknown().optional(),
  })
  .meta({ id: "Message" });
export type Message = z.infer<typeof messageSchema>;

/** Parts of AI SDK tools: `tool-<name>` of a static tool, `dynamic-tool` of one that is named in the part. */
export const isToolPart = (part: { readonly type: string }): boolean =>
  part.type === "dynamic-tool" || part.type.startsWith("tool-");

export const toolCallIdSchema = z.string().min(1).max(MAX_MESSAGE_ID_LENGTH);

/** A part as a caller sends it. */
const newPartSchema = partSchema.superRefine((part, ctx) => {
  if (!isToolPart(part)) return;
  const id = toolCallIdSchema.safeParse(part["toolCallId"]);
  if (!id.success)
    ctx.addIssue({
      code: "custom",
      path: ["toolCallId"],
      message: `a tool part needs an id of 1 to ${MAX_MESSAGE_ID_LENGTH} characters`,
    });
});

/** As a caller sends it: the id may be left to us. */
export const newMessageSchema = messageSchema
  .extend({
    id: messageIdSchema.optional(),
    parts: z
      .array(newPartSchema)
      .min(1)
      .max(MAX_PARTS_PER_MESSAGE)
      .refine((parts) => parts.filter(isToolPart).length <= MAX_TOOL_CALLS_PER_MESSAGE, {
        message: `at most ${MAX_TOOL_CALLS_PER_MESSAGE} tool parts`,
      }),
  })
  .meta({ id: "NewMessage" });

export const toolStateSchema = z.enum([
  "input-streaming",
  "input-available",
  "approval-requested",
  "approval-responded",
  "output-available",
  "output-error",
  "output-denied",
]);
export type ToolState = z.infer<typeof toolStateSchema>;

/** What a PATCH merges into one tool part: the fields of the AI SDK's tool parts that change while a call goes on. */
export const toolPatchSchema = z
  .strictObject({
    toolCallId: toolCallIdSchema,
    state: toolStateSchema.optional(),
    input: z.unknown().optional(),
    output: z.unknown().optional(),
    errorText: z.string().optional(),
    preliminary: z.boolean().optional(),
    approval: z.looseObject({ id: z.string() }).optional(),
  })
  .refine((patch) => Object.keys(patch).some((key) => key !== "toolCallId" && key !== "source"), {
    message: "give something to merge beside toolCallId",
  })
  .refine((patch) => patch.output === undefined || patch.errorText === undefined, {
    path: ["errorText"],
    message: "give output or errorText, and not both",
  })
  .meta({ id: "ToolPatch" });
export type ToolPatch = z.infer<typeof toolPatchSchema>;

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

/** A message that has none below it: the end of a branch. */
export const leafSchema = z
  .object({
    id: z.string(),
    role: z.string(),
    seq: z.int(),
    token_estimate: z.int().meta({ description: "Of the whole path to it, overlays not applied" }),
    created_at: z.iso.datetime(),
    active: z.boolean(),
  })
  .meta({ id: "Leaf" });
export type Leaf = z.infer<typeof leafSchema>;

/** A message of a path without its content. */
export const messageStatsSchema = z
  .object({ id: z.string(), role: z.string(), bytes: z.int(), token_estimate: z.int() })
  .meta({ id: "MessageStats" });
export type MessageStats = z.infer<typeof messageStatsSchema>;

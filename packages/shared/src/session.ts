/** A session: one conversation, one object. */
import * as z from "zod";
import { newBlocksSchema } from "./block.ts";
import { compactionPolicyPatchSchema } from "./compaction-policy.ts";
import { externalIdSchema, metadataPatchSchema, metadataSchema, nameSchema, tagsSchema, userIdSchema } from "./fields.ts";
import { sessionIdSchema } from "./ids.ts";
import { moneySchema } from "./money.ts";

export const sessionStatusSchema = z.enum(["active", "ended"]);
/** Of an erased session nothing is shown: its status is kept, so that it never comes back. */
export const storedStatusSchema = z.enum([...sessionStatusSchema.options, "erased"]);
export type StoredStatus = z.infer<typeof storedStatusSchema>;
export const compactionStateSchema = z.enum(["idle", "queued", "running", "suspended"]);
export type CompactionState = z.infer<typeof compactionStateSchema>;

const modelName = z.string().min(1).max(200);

/** What its owner sets; `revision` counts its changes. The object keeps it whole, D1 shows it. */
export const sessionSettingsSchema = z.strictObject({
  name: nameSchema.nullable(),
  external_id: externalIdSchema.nullable(),
  user_id: userIdSchema.nullable(),
  model: modelName.nullable(),
  source: z.string().min(1).max(64).nullable(),
  metadata: metadataSchema,
  tags: tagsSchema,
  parent_session_id: z.string().nullable(),
  compaction: compactionPolicyPatchSchema,
});
export type SessionSettings = z.infer<typeof sessionSettingsSchema>;

/** A session of which nothing was said. */
export const NO_SETTINGS: SessionSettings = {
  name: null,
  external_id: null,
  user_id: null,
  model: null,
  source: null,
  metadata: {},
  tags: [],
  parent_session_id: null,
  compaction: {},
};

export const createSessionSchema = z
  .strictObject({
    name: nameSchema.optional(),
    external_id: externalIdSchema.optional(),
    user_id: userIdSchema.optional(),
    model: modelName.optional(),
    source: z.string().min(1).max(64).optional(),
    metadata: metadataSchema.optional(),
    tags: tagsSchema.optional(),
    parent_session_id: sessionIdSchema.optional(),
    compaction: compactionPolicyPatchSchema.optional(),
    blocks: newBlocksSchema.optional().meta({ description: "For a key with the scope sessions:write-as-server" }),
  })
  .meta({ id: "CreateSession" });
export type CreateSession = z.infer<typeof createSessionSchema>;

export const patchSessionSchema = z
  .strictObject({
    name: nameSchema.nullable().optional(),
    user_id: userIdSchema.nullable().optional(),
    model: modelName.nullable().optional(),
    metadata: metadataPatchSchema.optional(),
    tags: tagsSchema.optional(),
    compaction: compactionPolicyPatchSchema.optional(),
  })
  .meta({ id: "PatchSession" });
export type PatchSession = z.infer<typeof patchSessionSchema>;

export const sessionUsageSchema = z
  .object({
    events: z.int(),
    input_tokens: z.int(),
    output_tokens: z.int(),
    cost: moneySchema,
    list_cost: moneySchema,
    unpriced_events: z.int(),
  })
  .meta({ id: "SessionUsage" });
export type SessionUsage = z.infer<typeof sessionUsageSchema>;

export const sessionSchema = z
  .object({
    id: z.string(),
    tenant_id: z.string(),
    name: z.string().nullable(),
    external_id: z.string().nullable(),
    user_id: z.string().nullable(),
    status: sessionStatusSchema,
    end_reason: z.string().nullable(),
    parent_session_id: z.string().nullable(),
    model: z.string().nullable(),
    source: z.string().nullable(),
    metadata: metadataSchema,
    tags: tagsSchema,
    leaf_id: z.string().nullable(),
    message_count: z.int(),
    token_estimate: z.int().meta({ description: "Tokens of the active history, overlays applied" }),
    usage: sessionUsageSchema,
    compaction: z.object({
      threshold: z.int(),
      state: compactionStateSchema,
      open_job_id: z.string().nullable(),
      policy: compactionPolicyPatchSchema,
      calibration: z.number().optional().meta({
        description: "Real tokens to an estimated one, by the last reported call. Only where the session itself is asked",
      }),
    }),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    revision: z.int(),
  })
  .meta({ id: "Session" });
export type Session = z.infer<typeof sessionSchema>;

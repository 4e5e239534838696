/**
 * When and how a session is compacted. A tenant sets parts of it, a session overrides them; what is left
 * open takes the plane's defaults. Source of the first four defaults: Cloudflare's Sessions documentation.
 */
import * as z from "zod";

const tokens = z.int().min(1).max(100_000_000);

const policyFields = {
  threshold: tokens.meta({ description: "Compact when the history's tokens pass this" }),
  protect_head: z.int().min(0).max(10_000).meta({ description: "Messages at the start that stay" }),
  keep_recent_tokens: z.int().min(0).max(100_000_000).meta({ description: "Tokens at the end that stay" }),
  min_tail: z.int().min(1).max(10_000).meta({ description: "Messages at the end that stay, whatever their size" }),
  target_ratio: z.number().gt(0).max(1).meta({ description: "Aimed size of the summary, as a share of the range" }),
  max_summary_tokens: tokens,
  min_gain: z.number().min(0).lt(1).meta({ description: "A summary must be smaller than its range by this share" }),
  cooldown_messages: z.int().min(0).max(10_000).meta({ description: "New messages before the next automatic compaction" }),
  retention_floor: z
    .number()
    .min(0)
    .max(1)
    .meta({ description: "Share of the range's facts below which missing ones are added" }),
  pinned: z.array(z.string().min(1).max(128)).max(100).meta({ description: "Messages that are never summarised" }),
  automatic: z.boolean(),
  model: z.string().min(1).max(200).nullable().meta({ description: "provider/model, or null for the plane's" }),
};

export const compactionPolicySchema = z
  .strictObject(policyFields)
  .refine((policy) => policy.keep_recent_tokens < policy.threshold, {
    path: ["keep_recent_tokens"],
    message: "must be less than threshold: otherwise nothing could be compacted when it is passed",
  })
  .meta({ id: "CompactionPolicy" });
export type CompactionPolicy = z.infer<typeof compactionPolicySchema>;

export const compactionPolicyPatchSchema = z.strictObject(policyFields).partial().meta({ id: "CompactionPolicyPatch" });
export type CompactionPolicyPatch = z.infer<typeof compactionPolicyPatchSchema>;

export const DEFAULT_COMPACTION_POLICY: CompactionPolicy = {
  threshold: 100_000,
  protect_head: 3,
  keep_recent_tokens: 20_000,
  min_tail: 2,
  target_ratio: 0.2,
  max_summary_tokens: 4_000,
  min_gain: 0.3,
  cooldown_messages: 4,
  retention_floor: 0.9,
  pinned: [],
  automatic: true,
  model: null,
};

/** Later layers win, field by field. The result may contradict itself: check it with the schema. */
export const layerPolicies = (...layers: CompactionPolicyPatch[]): CompactionPolicy =>
  Object.assign({}, DEFAULT_COMPACTION_POLICY, ...layers) as CompactionPolicy;

/**
 * One model call: who, when, which model, how many tokens of which class, why, and what it cost. Attached
 * to the call, never to a message, so that a copy of a message costs nothing.
 */
import * as z from "zod";
import { instantSchema, userIdSchema } from "./fields.ts";
import { sessionIdSchema, tenantIdSchema } from "./ids.ts";
import { moneySchema } from "./money.ts";
import { usageClassSchema } from "./price.ts";

export const MAX_EVENTS_PER_REPORT = 1_000;

export const purposeSchema = z.enum(["turn", "compaction", "title", "tool", "embedding", "eval", "other"]);
export const usageStatusSchema = z.enum(["final", "partial", "estimated"]);

const usageTagsSchema = z
  .record(z.string().min(1).max(64), z.string().max(128))
  .refine((tags) => Object.keys(tags).length <= 16, {
    message: "at most 16 tags",
  });

export const newUsageEventSchema = z
  .strictObject({
    id: z.string().min(1).max(128).optional(),
    provider: z.string().min(1).max(100).optional().meta({ description: "May be left out when model is provider/model" }),
    model: z.string().min(1).max(200),
    purpose: purposeSchema.optional(),
    status: usageStatusSchema.optional(),
    usage: z.record(z.string(), z.unknown()).meta({ description: "As the SDK or provider reported it" }),
    occurred_at: instantSchema.optional(),
    message_id: z.string().min(1).max(128).optional(),
    request_id: z.string().min(1).max(128).optional(),
    user_id: userIdSchema.optional(),
    tags: usageTagsSchema.optional(),
  })
  .meta({ id: "NewUsageEvent" });
export type NewUsageEvent = z.infer<typeof newUsageEventSchema>;

/** Counts of disjoint classes. */
export type UsageCounts = { readonly [C in z.infer<typeof usageClassSchema>]?: number | undefined };

/**
 * One class of one event: how many, at which price, for how much. Amounts in nano-USD; null is unpriced. What an
 * adjustment takes back is negative.
 */
export const usageLineSchema = z.object({
  class: usageClassSchema,
  quantity: z.int(),
  price: z
    .object({
      id: z.string(),
      class: usageClassSchema.meta({ description: "Whose price it is, where another class's stands in" }),
      femto_usd_per_token: z.int().min(0),
      effective_from: z.int(),
      source: z.string(),
    })
    .nullable(),
  list_nano: z.int().nullable(),
  billed_nano: z.int().nullable(),
});
export type UsageLine = z.infer<typeof usageLineSchema>;

/** An event normalised and priced, on its way from `api` to the session's object, and as a fact to D1. */
export const pricedUsageSchema = z.object({
  id: z.string(),
  /** SHA-256 of what the caller sent: the same id with another one is a conflict. */
  fingerprint: z.string(),
  provider: z.string(),
  model: z.string(),
  purpose: purposeSchema,
  status: usageStatusSchema,
  user_id: z.string().nullable(),
  message_id: z.string().nullable(),
  request_id: z.string().nullable(),
  tags: usageTagsSchema,
  occurred_at: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  lines: z.array(usageLineSchema).min(1),
  raw_usage: z.string().meta({ description: "JSON, as it came" }),
  normalizer_version: z.int(),
  /** Of the list amounts, in basis points; absent on events from before it was kept. */
  markup_bps: z.int().optional(),
  /** Absent on a call. On a correction of one: which, why, how many of its lines take back, and what changes in what is unpriced. */
  adjustment: z
    .object({ of: z.string(), reason: z.string(), reversed: z.int(), unpriced_change: z.int().min(-1).max(1) })
    .optional(),
});
export type PricedUsage = z.infer<typeof pricedUsageSchema>;

export const usageLineReplySchema = z.object({
  class: usageClassSchema,
  quantity: z.int(),
  price: z
    .object({
      id: z.string(),
      class: usageClassSchema,
      usd_per_million: z.string(),
      effective_from: z.iso.datetime(),
      source: z.string(),
    })
    .nullable(),
  list: moneySchema.nullable(),
  billed: moneySchema.nullable(),
});

export const usageEventSchema = z
  .object({
    id: z.string(),
    session_id: z.string(),
    provider: z.string(),
    model: z.string(),
    purpose: purposeSchema,
    status: usageStatusSchema,
    user_id: z.string().nullable(),
    message_id: z.string().nullable(),
    request_id: z.string().nullable(),
    tags: usageTagsSchema,
    occurred_at: z.iso.datetime(),
    recorded_at: z.iso.datetime(),
    input_tokens: z.int(),
    output_tokens: z.int(),
    lines: z.array(usageLineReplySchema),
    list_cost: moneySchema.nullable(),
    cost: moneySchema.nullable().meta({ description: "Billed: list plus the tenant's markup; null while a line is unpriced" }),
    raw_usage: z.unknown(),
    normalizer_version: z.int(),
    adjusts: z.string().nullable().meta({ description: "Of a correction: the event that it corrects. It is no call" }),
  })
  .meta({ id: "UsageEvent" });
export type UsageEvent = z.infer<typeof usageEventSchema>;

export const recordedUsageSchema = z
  .object({
    id: z.string(),
    status: z.enum(["created", "duplicate", "conflict"]),
    cost: moneySchema.nullable(),
    list_cost: moneySchema.nullable(),
    lines: z.array(usageLineReplySchema),
  })
  .meta({ id: "RecordedUsage" });
export type RecordedUsage = z.infer<typeof recordedUsageSchema>;

/** A correction: its first lines take back what held before, the others say what holds now. */
export const usageAdjustmentSchema = z
  .object({
    id: z.string(),
    event_id: z.string(),
    reason: z.string(),
    recorded_at: z.iso.datetime(),
    lines: z.array(usageLineReplySchema),
    list_change: moneySchema,
    cost_change: moneySchema,
  })
  .meta({ id: "UsageAdjustment" });
export type UsageAdjustment = z.infer<typeof usageAdjustmentSchema>;

export const adjustUsageSchema = z
  .strictObject({
    session_id: sessionIdSchema,
    tenant_id: tenantIdSchema,
    reason: z.string().min(1).max(500),
    usage: z.record(z.string(), z.unknown()).optional().meta({
      description: "What the call used in truth, in any shape of a report; left out: nothing, the call is taken back whole",
    }),
  })
  .meta({ id: "AdjustUsage" });

export const explainedUsageSchema = z
  .object({
    event_id: z.string(),
    session_id: z.string(),
    provider: z.string(),
    model: z.string(),
    purpose: purposeSchema,
    occurred_at: z.iso.datetime().meta({ description: "The moment whose prices hold" }),
    recorded_at: z.iso.datetime(),
    lines: z.array(
      usageLineReplySchema.extend({
        product: z.string().nullable().meta({ description: "Quantity times price in USD, exact" }),
        rounding: z.string().nullable().meta({ description: "What rounding once, half to even, added to make the list amount" }),
      }),
    ),
    list_cost: moneySchema.nullable(),
    cost: moneySchema.nullable().meta({ description: "List plus the tenant's markup; the lines add up to both" }),
    markup_bps: z.int().nullable().meta({ description: "Null on events from before it was kept" }),
    raw_usage: z.unknown(),
    normalizer_version: z.int(),
    adjustments: z.array(usageAdjustmentSchema).meta({ description: "Oldest first; the cost above has them in it" }),
  })
  .meta({ id: "ExplainedUsage" });
export type ExplainedUsage = z.infer<typeof explainedUsageSchema>;

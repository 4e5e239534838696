/**
 * One model call: who, when, which model, how many tokens of which class, why, and what it cost. Attached
 * to the call, never to a message, so that a copy of a message costs nothing.
 */
import * as z from "zod";
import { instantSchema, userIdSchema } from "./fields.ts";
import { sessionIdSchema, tenantIdSchema } from "./ids.ts";
import { moneySchema, newMoneySchema } from "./money.ts";
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
    provider_cost: newMoneySchema.optional().meta({
      description:
        "What the provider or a gateway says that it cost. Kept beside ours; it counts where there is no price and the tenant's settings say so",
    }),
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
 * One class of one event: how many, at which price, for how much. Amounts in nano-USD; null is unpriced. Amounts
 * without a price are the provider's: all of it on the line of `request`. What an adjustment takes back is negative.
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
      /** Whose price it is, where an alias led to it. */
      provider: z.string().optional(),
      model: z.string().optional(),
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
  /** What of the report does not add up; absent when all does. */
  inconsistent: z.array(z.string()).optional(),
  /** What the caller says that it cost; absent is not zero. */
  provider_cost_nano: z.int().min(0).optional(),
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
      provider: z.string().optional().meta({ description: "Of the price, where an alias led to it" }),
      model: z.string().optional(),
    })
    .nullable(),
  list: moneySchema.nullable(),
  billed: moneySchema.nullable(),
});

/** What replies say of an event beside its amounts. */
const costFields = {
  cost_source: z
    .enum(["prices", "provider"])
    .nullable()
    .meta({ description: "Whose word the cost is; null while it is not known" }),
  inconsistent: z.array(z.string()).meta({ description: "What of the report does not add up" }),
};
const providerCost = moneySchema.nullable().meta({ description: "What the caller said that it cost" });

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
    provider_cost: providerCost,
    ...costFields,
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
    ...costFields,
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
    provider_cost: providerCost,
    ...costFields,
    markup_bps: z.int().nullable().meta({ description: "Null on events from before it was kept" }),
    raw_usage: z.unknown(),
    normalizer_version: z.int(),
    adjustments: z.array(usageAdjustmentSchema).meta({ description: "Oldest first; the cost above has them in it" }),
  })
  .meta({ id: "ExplainedUsage" });
export type ExplainedUsage = z.infer<typeof explainedUsageSchema>;

/** A price: money per token of one class of one model, from one instant on. Superseded, never changed. */
import * as z from "zod";
import { instantSchema } from "./fields.ts";
import { tenantIdSchema } from "./ids.ts";
import { moneySchema, parseUsdPerMillion } from "./money.ts";

/** Calls in one request: each that changes is a call of its session's object. */
export const MAX_RE_RATED = 500;

export const TOKEN_CLASSES = [
  "input",
  "input_audio",
  "cache_read",
  "cache_write_5m",
  "cache_write_1h",
  "output",
  "reasoning",
  "output_audio",
] as const;
export const COUNTED_UNITS = ["web_search", "request"] as const;

/** Everything that a line can count: tokens of a class, or a unit. */
export const usageClassSchema = z.enum([...TOKEN_CLASSES, ...COUNTED_UNITS]).meta({ id: "UsageClass" });
export type UsageClass = z.infer<typeof usageClassSchema>;

/**
 * Which class's price stands in when a class has none of its own: reasoning is billed as output by every
 * provider that reports it, and a provider without a cache or audio price bills those tokens as plain ones.
 */
export const PRICE_FALLBACK: Partial<Record<UsageClass, UsageClass>> = {
  reasoning: "output",
  input_audio: "input",
  output_audio: "output",
  cache_read: "input",
};

export const providerName = z.string().min(1).max(100);
export const modelName = z.string().min(1).max(200);

export const newPriceSchema = z
  .strictObject({
    provider: providerName,
    model: modelName,
    class: usageClassSchema,
    usd_per_million: z
      .string()
      .refine((text) => parseUsdPerMillion(text) !== null, {
        message: "must be a decimal from 0 to 9000000 with at most 9 places; negative prices are refused",
      })
      .meta({ example: "0.15" }),
    effective_from: instantSchema,
    tenant_id: tenantIdSchema.optional(),
    tier_min: z.int().min(0).optional().meta({ description: "Holds for calls whose total input reaches this" }),
    source: z.string().min(1).max(200).optional(),
    currency: z.literal("USD", { message: "only USD is supported" }).optional(),
  })
  .meta({ id: "NewPrice" });
export type NewPrice = z.infer<typeof newPriceSchema>;

export const priceSchema = z
  .object({
    id: z.string(),
    tenant_id: z.string().nullable(),
    provider: z.string(),
    model: z.string(),
    class: usageClassSchema,
    tier_min: z.int(),
    usd_per_million: z.string(),
    effective_from: z.iso.datetime(),
    effective_to: z.iso.datetime().nullable().meta({ description: "When the next price takes over" }),
    recorded_at: z.iso.datetime(),
    source: z.string(),
  })
  .meta({ id: "Price" });
export type Price = z.infer<typeof priceSchema>;

export const unpricedModelSchema = z
  .object({
    provider: z.string(),
    model: z.string(),
    class: usageClassSchema,
    events: z.int(),
    quantity: z.int(),
    first_occurred_at: z.iso.datetime().meta({ description: "A price from here on prices all of them" }),
    last_occurred_at: z.iso.datetime(),
  })
  .meta({ id: "UnpricedModel" });
export type UnpricedModel = z.infer<typeof unpricedModelSchema>;

export const reRateSchema = z
  .strictObject({
    start: instantSchema,
    end: instantSchema,
    dry_run: z.boolean().optional().meta({ description: "Show the difference and change nothing" }),
    tenant_id: tenantIdSchema.optional(),
    provider: providerName.optional(),
    model: modelName.optional(),
    limit: z.int().min(1).max(MAX_RE_RATED).optional().meta({ description: "Calls that are looked at" }),
    cursor: z.string().max(1_000).optional().meta({ description: "Where the reply before ended" }),
  })
  .refine(({ start, end }) => Date.parse(start) < Date.parse(end), { path: ["end"], message: "is not after start" })
  .meta({ id: "ReRate" });

const reRatedSums = z.object({ list: moneySchema, billed: moneySchema, unpriced_events: z.int() });

export const reRatingSchema = z
  .object({
    dry_run: z.boolean(),
    events: z.int().meta({ description: "Calls that were looked at" }),
    behind: z
      .int()
      .meta({ description: "Calls with a correction that the catalog does not have yet: they stay as they are; ask again" }),
    events_since: z.iso
      .datetime()
      .nullable()
      .meta({ description: "Calls from before are archived, and stay as they are. Null: none is" }),
    changed: z.int(),
    before: reRatedSums,
    after: reRatedSums,
    models: z.array(
      z.object({
        provider: z.string(),
        model: z.string(),
        changed: z.int(),
        list_before: moneySchema,
        list_after: moneySchema,
      }),
    ),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
    as_of: z.iso.datetime().nullable(),
  })
  .meta({ id: "ReRating" });
export type ReRating = z.infer<typeof reRatingSchema>;

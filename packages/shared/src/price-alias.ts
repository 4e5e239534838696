/**
 * Under which other name a model's prices are found when it has none of its own, from one instant on. Superseded,
 * never changed. One step: where the other name has no price either, there is none.
 */
import * as z from "zod";
import { instantSchema } from "./fields.ts";
import { tenantIdSchema } from "./ids.ts";
import { modelName, providerName } from "./price.ts";

/** From the beginning of time, so that calls of before are priced too. */
const ALWAYS = "1970-01-01T00:00:00.000Z";

export const newPriceAliasSchema = z
  .strictObject({
    provider: providerName,
    model: modelName,
    target_provider: providerName.optional().meta({ description: "The same provider, when absent" }),
    target_model: modelName.nullable().meta({ description: "Null: from then on there is no other name" }),
    effective_from: instantSchema.default(ALWAYS),
    tenant_id: tenantIdSchema.optional(),
  })
  .refine((alias) => alias.target_model !== null || alias.target_provider === undefined, {
    path: ["target_provider"],
    message: "is of no model: target_model is null",
  })
  .refine(
    ({ provider, model, target_provider: target = provider, target_model: name }) => name !== model || target !== provider,
    { path: ["target_model"], message: "is the model itself" },
  )
  .meta({ id: "NewPriceAlias" });
export type NewPriceAlias = z.infer<typeof newPriceAliasSchema>;

export const priceAliasSchema = z
  .object({
    id: z.string(),
    tenant_id: z.string().nullable(),
    provider: z.string(),
    model: z.string(),
    target_provider: z.string().nullable(),
    target_model: z.string().nullable(),
    effective_from: z.iso.datetime(),
    recorded_at: z.iso.datetime(),
  })
  .meta({ id: "PriceAlias" });
export type PriceAlias = z.infer<typeof priceAliasSchema>;

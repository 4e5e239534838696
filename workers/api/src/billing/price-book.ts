/**
 * The price book as callers use it: prices and aliases of a model, cached in the isolate for a moment, and events
 * priced by them. Neither ever changes, so that a stale cache can only miss what was just added.
 */
import { newId, type TenantId } from "@sessionplane/shared/ids";
import { canonicalJson, sha256 } from "@sessionplane/shared/json";
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { NewUsageEvent, PricedUsage } from "@sessionplane/shared/usage-event";
import type { CatalogDb } from "../catalog/db.ts";
import { pricesOfModels } from "../catalog/prices.ts";
import { type BillingTerms, type Identity, modelOf, priceUsage } from "./price-usage.ts";
import type { ModelName, ModelPrices } from "./resolve-price.ts";

/** How long a price or an alias that was added elsewhere may be missed here. */
const CACHE_MS = 30_000;
const MAX_CACHED_MODELS = 2_000;

type Known = { readonly prices: ModelPrices; readonly until: number };
/** Lives as long as the isolate. A map is replaced, not emptied: what was read before is put into the old one. */
let cache = new Map<string, Known>();

/** After a price or an alias was added here, it holds here at once. */
export const forgetPrices = (): void => {
  cache = new Map();
};

const keyOf = (tenantId: TenantId, { provider, model }: ModelName): string => JSON.stringify([tenantId, provider, model]);

/** The prices of each model, by `keyOf`: those that are not cached in one round. */
async function pricesOf(
  db: CatalogDb,
  tenantId: TenantId,
  models: readonly ModelName[],
): Promise<(model: ModelName) => ModelPrices> {
  const now = Date.now();
  const found = new Map<string, ModelPrices>();
  const missing = new Map<string, ModelName>();
  for (const model of models) {
    const key = keyOf(tenantId, model);
    const known = cache.get(key);
    if (known !== undefined && known.until > now) found.set(key, known.prices);
    else missing.set(key, model);
  }
  if (cache.size + missing.size > MAX_CACHED_MODELS) forgetPrices();
  const target = cache;
  const read = missing.size === 0 ? [] : await pricesOfModels(db, tenantId, [...missing.values()]);
  for (const prices of read) {
    const key = keyOf(tenantId, prices);
    target.set(key, { prices, until: now + CACHE_MS });
    found.set(key, prices);
  }
  return (model) => found.get(keyOf(tenantId, model)) ?? { ...model, rows: [], aliases: [] };
}

/** What can price a tenant's calls of one model. */
export const pricesFor = async (db: CatalogDb, tenantId: TenantId, { provider, model }: ModelName): Promise<ModelPrices> =>
  (await pricesOf(db, tenantId, [{ provider, model }]))({ provider, model });

/** The event's id is the caller's or a new one; the fingerprint tells another event with the same id. */
async function identify(event: NewUsageEvent): Promise<Identity> {
  const { id, ...rest } = event;
  return { id: id ?? newId("usage"), fingerprint: await sha256(canonicalJson(rest)) };
}

const pointAt = (refusal: Problem, pointer: string): Problem =>
  refusal.errors === undefined
    ? refusal
    : { ...refusal, errors: refusal.errors.map((error) => ({ ...error, pointer: `${pointer}${error.pointer}` })) };

/** All events priced, or the first refusal. `pointerOf(i)` is where event i stands in the caller's body. */
export async function priceEvents(
  db: CatalogDb,
  tenantId: TenantId,
  terms: BillingTerms,
  events: readonly NewUsageEvent[],
  pointerOf: (index: number) => string,
): Promise<Result<PricedUsage[], Problem>> {
  const models: ModelName[] = [];
  for (const [index, event] of events.entries()) {
    const model = modelOf(event);
    if (!model.ok) return err(pointAt(model.error, pointerOf(index)));
    models.push(model.value);
  }
  const prices = await pricesOf(db, tenantId, models);
  const identities = await Promise.all(events.map(identify));
  const now = Date.now();
  const priced: PricedUsage[] = [];
  for (const [index, event] of events.entries()) {
    const [model, identity] = [models[index], identities[index]];
    if (model === undefined || identity === undefined) throw new Error("an event lost its model");
    const one = priceUsage(event, identity, prices(model), terms, now);
    if (!one.ok) return err(pointAt(one.error, pointerOf(index)));
    priced.push(one.value);
  }
  return ok(priced);
}

/**
 * The price book as callers use it: rows of a model, cached in the isolate for a moment, and events priced
 * by them. Prices never change, so that a stale cache can only miss one that was just added.
 */
import { newId, type TenantId } from "@sessionplane/shared/ids";
import { canonicalJson, sha256 } from "@sessionplane/shared/json";
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { NewUsageEvent, PricedUsage } from "@sessionplane/shared/usage-event";
import type { CatalogDb } from "../catalog/db.ts";
import { pricesOfModel } from "../catalog/prices.ts";
import { modelOf, priceUsage } from "./price-usage.ts";
import type { PriceRow } from "./resolve-price.ts";

const CACHE_MS = 30_000;
const MAX_CACHED_MODELS = 1_000;

const cache = new Map<string, { readonly rows: readonly PriceRow[]; readonly until: number }>();

/** After a price was added here, it holds here at once. */
export const forgetPrices = (): void => cache.clear();

export async function priceRows(
  db: CatalogDb,
  tenantId: TenantId,
  provider: string,
  model: string,
): Promise<readonly PriceRow[]> {
  const key = JSON.stringify([tenantId, provider, model]);
  const known = cache.get(key);
  if (known !== undefined && known.until > Date.now()) return known.rows;
  const rows = await pricesOfModel(db, tenantId, provider, model);
  if (cache.size >= MAX_CACHED_MODELS) cache.clear();
  cache.set(key, { rows, until: Date.now() + CACHE_MS });
  return rows;
}

/** The event's id is the caller's or a new one; the fingerprint tells another event with the same id. */
async function identify(event: NewUsageEvent): Promise<{ id: string; fingerprint: string }> {
  const { id, ...rest } = event;
  return { id: id ?? newId("usage"), fingerprint: await sha256(canonicalJson(rest)) };
}

const pointAt = (refusal: Problem, pointer: string): Problem =>
  refusal.errors === undefined
    ? refusal
    : { ...refusal, errors: refusal.errors.map((error) => ({ ...error, pointer: `${pointer}${error.pointer}` })) };

async function priceOne(
  db: CatalogDb,
  tenantId: TenantId,
  markupBps: number,
  event: NewUsageEvent,
): Promise<Result<PricedUsage, Problem>> {
  const model = modelOf(event);
  if (!model.ok) return model;
  const rows = await priceRows(db, tenantId, model.value.provider, model.value.model);
  return priceUsage(event, await identify(event), rows, markupBps, Date.now());
}

/** All events priced, or the first refusal. `pointerOf(i)` is where event i stands in the caller's body. */
export async function priceEvents(
  db: CatalogDb,
  tenantId: TenantId,
  markupBps: number,
  events: readonly NewUsageEvent[],
  pointerOf: (index: number) => string,
): Promise<Result<PricedUsage[], Problem>> {
  const priced: PricedUsage[] = [];
  for (const [index, event] of events.entries()) {
    const one = await priceOne(db, tenantId, markupBps, event);
    if (!one.ok) return err(pointAt(one.error, pointerOf(index)));
    priced.push(one.value);
  }
  return ok(priced);
}

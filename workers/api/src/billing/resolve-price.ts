/**
 * Which price holds for a class of a call. Pure, over the rows of one provider's model and of what its aliases
 * name. A model that has any price in force is priced by its own alone.
 */
import { PRICE_FALLBACK, type UsageClass } from "@sessionplane/shared/price";

export type PriceRow = {
  readonly id: string;
  /** Empty: the plane's. */
  readonly tenantId: string;
  readonly provider: string;
  readonly model: string;
  readonly class: UsageClass;
  readonly tierMin: number;
  readonly femtoUsdPerToken: number;
  readonly effectiveFrom: number;
  readonly recordedAt: number;
  readonly source: string;
};

export type AliasRow = {
  readonly id: string;
  /** Empty: the plane's. */
  readonly tenantId: string;
  readonly provider: string;
  readonly model: string;
  /** Null: no other name any more. */
  readonly targetProvider: string | null;
  readonly targetModel: string | null;
  readonly effectiveFrom: number;
  readonly recordedAt: number;
};

export type ModelName = { readonly provider: string; readonly model: string };

/** What a model's calls can be priced by: its aliases, its own prices, and those of the aliases' targets. */
export type ModelPrices = ModelName & { readonly rows: readonly PriceRow[]; readonly aliases: readonly AliasRow[] };

/** The alias that led to prices, if one did, and the model that it names. */
export type UsedAlias = ModelName & { readonly id: string };

/** `at`: when the tokens were spent. `inputTokens`: of the whole call, for tiers. */
export type PriceMoment = { readonly at: number; readonly inputTokens: number };

type Owned = { readonly tenantId: string; readonly effectiveFrom: number; readonly recordedAt: number };

const tenantFirst = (a: Owned, b: Owned): number => Number(a.tenantId === "") - Number(b.tenantId === "");
const newestFirst = (a: Owned, b: Owned): number => b.effectiveFrom - a.effectiveFrom || b.recordedAt - a.recordedAt;

/** A tenant's own price before the plane's; the highest tier reached; the newest that was in force. */
function inForce(rows: readonly PriceRow[], wanted: UsageClass, { at, inputTokens }: PriceMoment): PriceRow | null {
  const holding = rows.filter((row) => row.class === wanted && row.effectiveFrom <= at && row.tierMin <= inputTokens);
  const [best] = holding.toSorted((a, b) => tenantFirst(a, b) || b.tierMin - a.tierMin || newestFirst(a, b));
  return best ?? null;
}

/** The class's own price, else that of the class that stands in for it; null is unpriced, never free. */
export function resolvePrice(rows: readonly PriceRow[], wanted: UsageClass, moment: PriceMoment): PriceRow | null {
  for (let name: UsageClass | undefined = wanted; name !== undefined; name = PRICE_FALLBACK[name]) {
    const row = inForce(rows, name, moment);
    if (row !== null) return row;
  }
  return null;
}

/** The rows of one model alone. */
export const ofModel = ({ rows }: ModelPrices, { provider, model }: ModelName): readonly PriceRow[] =>
  rows.filter((row) => row.provider === provider && row.model === model);

/** The alias that was in force, a tenant's own before the plane's: also one that says that there is none. */
function aliasAt({ aliases }: ModelPrices, at: number): UsedAlias | null {
  const [alias] = aliases.filter((one) => one.effectiveFrom <= at).toSorted((a, b) => tenantFirst(a, b) || newestFirst(a, b));
  if (alias === undefined || alias.targetProvider === null || alias.targetModel === null) return null;
  return { id: alias.id, provider: alias.targetProvider, model: alias.targetModel };
}

/** The rows that price the model's calls of a moment: its own, or those of the model that an alias names. */
export function pricesAt(prices: ModelPrices, at: number): { rows: readonly PriceRow[]; alias: UsedAlias | null } {
  const own = ofModel(prices, prices);
  if (own.some((row) => row.effectiveFrom <= at)) return { rows: own, alias: null };
  const alias = aliasAt(prices, at);
  return { rows: alias === null ? own : ofModel(prices, alias), alias };
}

/** When the next price of the same key takes over; null while none is known. */
export function effectiveTo(rows: readonly PriceRow[], price: PriceRow): number | null {
  const later = rows.filter(
    (row) =>
      row.class === price.class &&
      row.tenantId === price.tenantId &&
      row.tierMin === price.tierMin &&
      row.effectiveFrom > price.effectiveFrom,
  );
  return later.length === 0 ? null : Math.min(...later.map((row) => row.effectiveFrom));
}

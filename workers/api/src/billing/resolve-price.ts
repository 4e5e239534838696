/** Which price holds for a class of a call. Pure, over the rows of one provider's model. */
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

/** `at`: when the tokens were spent. `inputTokens`: of the whole call, for tiers. */
export type PriceMoment = { readonly at: number; readonly inputTokens: number };

/** A tenant's own price before the plane's; the highest tier reached; the newest that was in force. */
function inForce(rows: readonly PriceRow[], wanted: UsageClass, { at, inputTokens }: PriceMoment): PriceRow | null {
  const holding = rows.filter((row) => row.class === wanted && row.effectiveFrom <= at && row.tierMin <= inputTokens);
  const [best] = holding.toSorted(
    (a, b) =>
      Number(a.tenantId === "") - Number(b.tenantId === "") ||
      b.tierMin - a.tierMin ||
      b.effectiveFrom - a.effectiveFrom ||
      b.recordedAt - a.recordedAt,
  );
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

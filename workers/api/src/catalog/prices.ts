/** The `prices` table: immutable rows. An empty tenant is the plane's own price. */
import { and, eq, gt, inArray, or } from "drizzle-orm";
import { formatInstant } from "@sessionplane/shared/fields";
import { newId, type TenantId } from "@sessionplane/shared/ids";
import { formatUsdPerMillion, parseUsdPerMillion } from "@sessionplane/shared/money";
import type { NewPrice, Price } from "@sessionplane/shared/price";
import { type PriceRow, effectiveTo } from "../billing/resolve-price.ts";
import type { CatalogDb } from "./db.ts";
import { prices } from "./schema.ts";

const PLANE = "";
const DEFAULT_SOURCE = "operator";

/** A price on its way in; `femto` is its amount, which the schema has checked. */
export type PriceEntry = {
  readonly tenant: string;
  readonly provider: string;
  readonly model: string;
  readonly class: string;
  readonly tier: number;
  readonly femto: number;
  readonly from: number;
  readonly source: string;
};

export const toEntry = (price: NewPrice): PriceEntry => ({
  tenant: price.tenant_id ?? PLANE,
  provider: price.provider,
  model: price.model,
  class: price.class,
  tier: price.tier_min ?? 0,
  femto: parseUsdPerMillion(price.usd_per_million) ?? 0,
  from: Date.parse(price.effective_from),
  source: price.source ?? DEFAULT_SOURCE,
});

/** One JSON parameter, whatever the number of rows: D1 takes 100 parameters a statement. */
const COMPARE = `
SELECT e.key AS line, p.femto_usd_per_token = (e.value->>'$.femto') AS same, p.id AS id
FROM json_each(?1) AS e JOIN prices AS p ON p.provider = e.value->>'$.provider' AND p.model = e.value->>'$.model'
  AND p.tenant_id = e.value->>'$.tenant' AND p.class = e.value->>'$.class' AND p.tier_min = (e.value->>'$.tier')
  AND p.effective_from = (e.value->>'$.from')`;

const INSERT = `
INSERT INTO prices (id, tenant_id, provider, model, class, tier_min, femto_usd_per_token, effective_from, recorded_at, source)
SELECT value->>'$.id', value->>'$.tenant', value->>'$.provider', value->>'$.model', value->>'$.class', value->>'$.tier',
  value->>'$.femto', value->>'$.from', ?2, value->>'$.source'
FROM json_each(?1) WHERE true ON CONFLICT DO NOTHING`;

/** For each entry whether its moment is free, holds the same amount already, or another one. */
export async function compareEntries(
  catalog: D1Database,
  entries: readonly PriceEntry[],
): Promise<("new" | "unchanged" | "conflict")[]> {
  const found = await catalog.prepare(COMPARE).bind(JSON.stringify(entries)).all<{ line: number; same: number }>();
  const verdicts = entries.map((): "new" | "unchanged" | "conflict" => "new");
  for (const { line, same } of found.results) verdicts[line] = same === 1 ? "unchanged" : "conflict";
  return verdicts;
}

export async function insertEntries(
  catalog: D1Database,
  entries: readonly PriceEntry[],
  ids: readonly string[] = [],
): Promise<void> {
  const rows = entries.map((entry, index) => ({ id: ids[index] ?? newId("price"), ...entry }));
  await catalog.prepare(INSERT).bind(JSON.stringify(rows), Date.now()).run();
}

/** The rows that can price a tenant's call of a model: its own and the plane's. */
export async function pricesOfModel(
  db: CatalogDb,
  tenantId: TenantId | null,
  provider: string,
  model: string,
): Promise<PriceRow[]> {
  return db
    .select()
    .from(prices)
    .where(
      and(
        eq(prices.provider, provider),
        eq(prices.model, model),
        inArray(prices.tenantId, tenantId === null ? [PLANE] : [PLANE, tenantId]),
      ),
    )
    .all();
}

export type PriceFilter = {
  readonly limit: number;
  readonly cursor?: readonly [recordedAt: number, id: string] | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly class?: string | undefined;
  readonly tenantId?: TenantId | undefined;
};

/** Every tenant's prices: the operator's list. Oldest first, one row more than the limit. */
export async function listPrices(db: CatalogDb, filter: PriceFilter): Promise<Price[]> {
  const { cursor } = filter;
  const rows = await db
    .select()
    .from(prices)
    .where(
      and(
        filter.provider === undefined ? undefined : eq(prices.provider, filter.provider),
        filter.model === undefined ? undefined : eq(prices.model, filter.model),
        filter.class === undefined ? undefined : eq(prices.class, filter.class as Price["class"]),
        filter.tenantId === undefined ? undefined : eq(prices.tenantId, filter.tenantId),
        cursor === undefined
          ? undefined
          : or(gt(prices.recordedAt, cursor[0]), and(eq(prices.recordedAt, cursor[0]), gt(prices.id, cursor[1]))),
      ),
    )
    .orderBy(prices.recordedAt, prices.id)
    .limit(filter.limit + 1)
    .all();
  return rows.map((row) => toPrice(row, row.provider, row.model, null));
}

/** `rows`: what may supersede it; null where the list does not know. */
export const toPrice = (row: PriceRow, provider: string, model: string, rows: readonly PriceRow[] | null): Price => {
  const to = rows === null ? null : effectiveTo(rows, row);
  return {
    id: row.id,
    tenant_id: row.tenantId === PLANE ? null : row.tenantId,
    provider,
    model,
    class: row.class,
    tier_min: row.tierMin,
    usd_per_million: formatUsdPerMillion(row.femtoUsdPerToken),
    effective_from: formatInstant(row.effectiveFrom),
    effective_to: to === null ? null : formatInstant(to),
    recorded_at: formatInstant(row.recordedAt),
    source: row.source,
  };
};

/** The `prices` table as it is read: what prices a call, and the operators' list. `price-entries.ts` writes it. */
import { type SQL, and, eq, getTableColumns, inArray, sql } from "drizzle-orm";
import { formatInstant } from "@sessionplane/shared/fields";
import type { TenantId } from "@sessionplane/shared/ids";
import { formatUsdPerMillion } from "@sessionplane/shared/money";
import type { Price, UsageClass } from "@sessionplane/shared/price";
import { type AliasRow, type ModelName, type ModelPrices, type PriceRow, effectiveTo } from "../billing/resolve-price.ts";
import type { CatalogDb } from "./db.ts";
import type { TenantScope } from "./scope.ts";
import { type InstantList, inOrder, pastCursor } from "./instant-list.ts";
import { PLANE } from "./price-entries.ts";
import { priceAliases, prices } from "./ledger-schema.ts";

/** Whose prices hold: the plane's alone, or a tenant's own beside them. */
export type PriceOwner = TenantId | "plane";

/** Which aliases and prices can price an owner's calls of these models: a model's own, and its aliases' targets'. */
export function conditionsOf(
  owner: PriceOwner,
  models: readonly ModelName[],
): { aliases: SQL | undefined; prices: SQL | undefined } {
  const named = JSON.stringify(models.map(({ provider, model }) => [provider, model]));
  const owners = owner === "plane" ? [PLANE] : [PLANE, owner];
  const asked = sql`SELECT value->>0, value->>1 FROM json_each(${named})`;
  const { provider, model, tenantId, targetProvider, targetModel } = priceAliases;
  const aliases = and(sql`(${provider}, ${model}) IN (${asked})`, inArray(tenantId, owners));
  // Wrapped: SQLite seeks no index for what is IN a compound SELECT, and would read the whole book.
  const names = sql`SELECT * FROM (${asked} UNION SELECT ${targetProvider}, ${targetModel} FROM ${priceAliases} WHERE ${aliases})`;
  return { aliases, prices: and(sql`(${prices.provider}, ${prices.model}) IN (${names})`, inArray(prices.tenantId, owners)) };
}

/** All of it in one round, whatever the number of models. */
export async function pricesOfModels(db: CatalogDb, owner: PriceOwner, models: readonly ModelName[]): Promise<ModelPrices[]> {
  const conditions = conditionsOf(owner, models);
  const [aliases, rows] = await db.batch([
    db.select().from(priceAliases).where(conditions.aliases),
    db.select().from(prices).where(conditions.prices),
  ]);
  return byModel(models, aliases, rows);
}

const keyOf = ({ provider, model }: ModelName): string => JSON.stringify([provider, model]);

/** What of all aliases and rows is of each model. */
function byModel(models: readonly ModelName[], aliases: readonly AliasRow[], rows: readonly PriceRow[]): ModelPrices[] {
  const [aliasesOf, rowsOf] = [Map.groupBy(aliases, keyOf), Map.groupBy(rows, keyOf)];
  return models.map(({ provider, model }) => {
    const own = aliasesOf.get(keyOf({ provider, model })) ?? [];
    const targets = own.map((alias) => keyOf({ provider: alias.targetProvider ?? "", model: alias.targetModel ?? "" }));
    const names = new Set([keyOf({ provider, model }), ...targets]);
    return { provider, model, aliases: own, rows: [...names].flatMap((name) => rowsOf.get(name) ?? []) };
  });
}

export type PriceFilter = Omit<InstantList, "createdAt"> & {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly class?: UsageClass | undefined;
};

/** The next price of the same key, which ends this one. Names as text: a selected column would lose its table's. */
const EFFECTIVE_TO = sql<number | null>`(SELECT min(next.effective_from) FROM prices AS next
  WHERE next.provider = prices.provider AND next.model = prices.model AND next.tenant_id = prices.tenant_id
    AND next.class = prices.class AND next.tier_min = prices.tier_min AND next.effective_from > prices.effective_from)`;

/** One row more than the limit, by the time of recording. */
export async function listPrices(db: CatalogDb, scope: TenantScope, filter: PriceFilter): Promise<Price[]> {
  const rows = await db
    .select({ ...getTableColumns(prices), effectiveTo: EFFECTIVE_TO })
    .from(prices)
    .where(
      and(
        scope === "all_tenants" ? undefined : eq(prices.tenantId, scope),
        filter.provider === undefined ? undefined : eq(prices.provider, filter.provider),
        filter.model === undefined ? undefined : eq(prices.model, filter.model),
        filter.class === undefined ? undefined : eq(prices.class, filter.class),
        pastCursor(prices.recordedAt, prices.id, filter),
      ),
    )
    .orderBy(...inOrder(prices.recordedAt, prices.id, filter.order))
    .limit(filter.limit + 1)
    .all();
  return rows.map((row) => toPrice(row, row.effectiveTo));
}

/** A row of a model among the rows that may supersede it. */
export const priceAmong = (rows: readonly PriceRow[], row: PriceRow): Price => toPrice(row, effectiveTo(rows, row));

const toPrice = (row: PriceRow, to: number | null): Price => ({
  id: row.id,
  tenant_id: row.tenantId === PLANE ? null : row.tenantId,
  provider: row.provider,
  model: row.model,
  class: row.class,
  tier_min: row.tierMin,
  usd_per_million: formatUsdPerMillion(row.femtoUsdPerToken),
  effective_from: formatInstant(row.effectiveFrom),
  effective_to: to === null ? null : formatInstant(to),
  recorded_at: formatInstant(row.recordedAt),
  source: row.source,
});

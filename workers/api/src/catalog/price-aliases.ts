/** The `price_aliases` table. Rows are never changed: an alias holds until another one of its model takes over. */
import { and, eq } from "drizzle-orm";
import { formatInstant } from "@sessionplane/shared/fields";
import type { PriceAlias } from "@sessionplane/shared/price-alias";
import type { AliasRow } from "../billing/resolve-price.ts";
import { type AuditEntry, auditStatement } from "./audit-events.ts";
import type { CatalogDb } from "./db.ts";
import type { TenantScope } from "./scope.ts";
import { type InstantList, inOrder, pastCursor } from "./instant-list.ts";
import { PLANE } from "./price-entries.ts";
import { priceAliases } from "./ledger-schema.ts";

/** What only one target may hold for. */
export type AliasMoment = Pick<AliasRow, "tenantId" | "provider" | "model" | "effectiveFrom">;

export async function findAlias(db: CatalogDb, moment: AliasMoment): Promise<AliasRow | null> {
  const row = await db
    .select()
    .from(priceAliases)
    .where(
      and(
        eq(priceAliases.tenantId, moment.tenantId),
        eq(priceAliases.provider, moment.provider),
        eq(priceAliases.model, moment.model),
        eq(priceAliases.effectiveFrom, moment.effectiveFrom),
      ),
    )
    .get();
  return row ?? null;
}

/** With its audit entry. A moment that someone else took in between keeps what it has. */
export async function insertAlias(db: CatalogDb, alias: AliasRow, audit: AuditEntry): Promise<void> {
  await db.batch([auditStatement(db, audit), db.insert(priceAliases).values(alias).onConflictDoNothing()]);
}

export type AliasFilter = Omit<InstantList, "createdAt"> & {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
};

/** One row more than the limit, by the time of recording. */
export async function listAliases(db: CatalogDb, scope: TenantScope, filter: AliasFilter): Promise<PriceAlias[]> {
  const rows = await db
    .select()
    .from(priceAliases)
    .where(
      and(
        scope === "all_tenants" ? undefined : eq(priceAliases.tenantId, scope),
        filter.provider === undefined ? undefined : eq(priceAliases.provider, filter.provider),
        filter.model === undefined ? undefined : eq(priceAliases.model, filter.model),
        pastCursor(priceAliases.recordedAt, priceAliases.id, filter),
      ),
    )
    .orderBy(...inOrder(priceAliases.recordedAt, priceAliases.id, filter.order))
    .limit(filter.limit + 1)
    .all();
  return rows.map(toAlias);
}

export const toAlias = (row: AliasRow): PriceAlias => ({
  id: row.id,
  tenant_id: row.tenantId === PLANE ? null : row.tenantId,
  provider: row.provider,
  model: row.model,
  target_provider: row.targetProvider,
  target_model: row.targetModel,
  effective_from: formatInstant(row.effectiveFrom),
  recorded_at: formatInstant(row.recordedAt),
});

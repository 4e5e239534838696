/** The `tenants` table. */
import { and, eq } from "drizzle-orm";
import { formatInstant } from "@sessionplane/shared/fields";
import type { TenantId } from "@sessionplane/shared/ids";
import { type Tenant, withDefaults } from "@sessionplane/shared/tenant";
import { type AuditEntry, auditStatement } from "./audit-events.ts";
import { type CatalogDb, isUniqueViolation } from "./db.ts";
import { type InstantList, inOrder, pastCursor, within } from "./instant-list.ts";
import { tenants } from "./schema.ts";

export type NewTenant = Pick<Tenant, "name" | "external_id" | "metadata" | "settings"> & { id: TenantId };

/** Creates the tenant, or says that it or its external id is there already. */
export async function insertTenant(db: CatalogDb, tenant: NewTenant, audit: AuditEntry): Promise<"created" | "exists"> {
  const now = Date.now();
  const insert = db.insert(tenants).values({
    id: tenant.id,
    externalId: tenant.external_id,
    name: tenant.name,
    status: "active",
    metadata: tenant.metadata,
    settings: tenant.settings,
    revision: 1,
    createdAt: now,
    updatedAt: now,
  });
  try {
    await db.batch([insert, auditStatement(db, audit)]);
    return "created";
  } catch (error) {
    if (isUniqueViolation(error)) return "exists";
    throw error;
  }
}

export async function findTenant(db: CatalogDb, id: TenantId): Promise<Tenant | null> {
  const row = await db.select().from(tenants).where(eq(tenants.id, id)).get();
  return row === undefined ? null : toTenant(row);
}

export async function findTenantByExternalId(db: CatalogDb, externalId: string): Promise<Tenant | null> {
  const row = await db.select().from(tenants).where(eq(tenants.externalId, externalId)).get();
  return row === undefined ? null : toTenant(row);
}

/** Writes the tenant as given if its revision is still `expected`. */
export async function updateTenant(
  db: CatalogDb,
  id: TenantId,
  tenant: Tenant,
  expected: number,
  audit: AuditEntry,
): Promise<boolean> {
  const [updated] = await db.batch([
    db
      .update(tenants)
      .set({
        name: tenant.name,
        metadata: tenant.metadata,
        settings: tenant.settings,
        revision: expected + 1,
        updatedAt: Date.now(),
      })
      .where(and(eq(tenants.id, id), eq(tenants.revision, expected)))
      .returning({ id: tenants.id }),
    auditStatement(db, audit),
  ]);
  return updated.length > 0;
}

export type TenantFilter = InstantList & { readonly externalId?: string | undefined };

/** Operators list every tenant: the one list that has no tenant in its signature. One row more than the limit. */
export async function listTenants(db: CatalogDb, filter: TenantFilter): Promise<Tenant[]> {
  const rows = await db
    .select()
    .from(tenants)
    .where(
      and(
        filter.externalId === undefined ? undefined : eq(tenants.externalId, filter.externalId),
        within(tenants.createdAt, filter.createdAt),
        pastCursor(tenants.createdAt, tenants.id, filter),
      ),
    )
    .orderBy(...inOrder(tenants.createdAt, tenants.id, filter.order))
    .limit(filter.limit + 1)
    .all();
  return rows.map(toTenant);
}

function toTenant(row: typeof tenants.$inferSelect): Tenant {
  return {
    id: row.id,
    name: row.name,
    external_id: row.externalId,
    status: row.status,
    metadata: row.metadata,
    settings: withDefaults(row.settings),
    created_at: formatInstant(row.createdAt),
    updated_at: formatInstant(row.updatedAt),
    revision: row.revision,
  };
}

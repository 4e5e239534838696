/** The `api_keys` table. `owner` is the tenant, or `operator`: no query is written without one. */
import { and, eq, isNull, lt, or } from "drizzle-orm";
import type { ApiKey } from "@sessionplane/shared/api-key";
import { formatInstant, formatInstantOrNull } from "@sessionplane/shared/fields";
import { type ApiKeyId, type TenantId, parseId } from "@sessionplane/shared/ids";
import type { Principal } from "../http/principal.ts";
import { type AuditEntry, auditStatement } from "./audit-events.ts";
import { withDefaults } from "@sessionplane/shared/tenant";
import type { CatalogDb } from "./db.ts";
import { type InstantList, inOrder, pastCursor } from "./instant-list.ts";
import { apiKeys, tenants } from "./schema.ts";

export type KeyOwner = TenantId | "operator";

/** A key's last use is written at most this often: it is a hint for people, not a log. */
const LAST_USED_EVERY_MS = 10 * 60 * 1000;

const ownedBy = (owner: KeyOwner) => (owner === "operator" ? isNull(apiKeys.tenantId) : eq(apiKeys.tenantId, owner));

export type NewApiKey = {
  readonly id: ApiKeyId;
  readonly hash: string;
  readonly start: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt: number | null;
};

export async function insertKey(db: CatalogDb, owner: KeyOwner, key: NewApiKey, audit: AuditEntry): Promise<ApiKey> {
  const insert = db
    .insert(apiKeys)
    .values({ ...key, scopes: [...key.scopes], tenantId: owner === "operator" ? null : owner, createdAt: Date.now() })
    .returning();
  const [[row]] = await db.batch([insert, auditStatement(db, audit)]);
  if (row === undefined) throw new Error("an insert returned no row");
  return toApiKey(row);
}

export async function listKeys(db: CatalogDb, owner: KeyOwner, list: Omit<InstantList, "createdAt">): Promise<ApiKey[]> {
  const rows = await db
    .select()
    .from(apiKeys)
    .where(and(ownedBy(owner), pastCursor(apiKeys.createdAt, apiKeys.id, list)))
    .orderBy(...inOrder(apiKeys.createdAt, apiKeys.id, list.order))
    .limit(list.limit + 1)
    .all();
  return rows.map(toApiKey);
}

/** False when the owner has no such key. Revoking twice keeps the first time. */
export async function revokeKey(db: CatalogDb, owner: KeyOwner, id: ApiKeyId, audit: AuditEntry): Promise<boolean> {
  const key = await db
    .select({ revokedAt: apiKeys.revokedAt })
    .from(apiKeys)
    .where(and(ownedBy(owner), eq(apiKeys.id, id)))
    .get();
  if (key === undefined) return false;
  if (key.revokedAt !== null) return true;
  await db.batch([
    db
      .update(apiKeys)
      .set({ revokedAt: Date.now() })
      .where(and(ownedBy(owner), eq(apiKeys.id, id), isNull(apiKeys.revokedAt))),
    auditStatement(db, audit),
  ]);
  return true;
}

/** Who holds the key with this hash, unless it is revoked or has expired. */
export async function findPrincipal(db: CatalogDb, hash: string, now: number): Promise<Principal | null> {
  const row = await db
    .select({
      keyId: apiKeys.id,
      tenantId: apiKeys.tenantId,
      scopes: apiKeys.scopes,
      expiresAt: apiKeys.expiresAt,
      revokedAt: apiKeys.revokedAt,
      status: tenants.status,
      settings: tenants.settings,
    })
    .from(apiKeys)
    .leftJoin(tenants, eq(apiKeys.tenantId, tenants.id))
    .where(eq(apiKeys.hash, hash))
    .get();
  if (row === undefined || row.revokedAt !== null || (row.expiresAt !== null && row.expiresAt <= now)) return null;
  if (row.tenantId === null) return { kind: "operator", keyId: row.keyId, scopes: row.scopes };
  const tenantId = parseId("tenant", row.tenantId);
  if (tenantId === null || row.settings === null) return null;
  return {
    kind: "tenant",
    keyId: row.keyId,
    scopes: row.scopes,
    tenantId,
    suspended: row.status === "suspended",
    settings: withDefaults(row.settings),
  };
}

export async function touchKey(db: CatalogDb, keyId: string, now: number): Promise<void> {
  await db
    .update(apiKeys)
    .set({ lastUsedAt: now })
    .where(and(eq(apiKeys.id, keyId), or(isNull(apiKeys.lastUsedAt), lt(apiKeys.lastUsedAt, now - LAST_USED_EVERY_MS))));
}

function toApiKey(row: typeof apiKeys.$inferSelect): ApiKey {
  return {
    id: row.id,
    tenant_id: row.tenantId,
    name: row.name,
    start: row.start,
    scopes: row.scopes,
    created_at: formatInstant(row.createdAt),
    expires_at: formatInstantOrNull(row.expiresAt),
    revoked_at: formatInstantOrNull(row.revokedAt),
    last_used_at: formatInstantOrNull(row.lastUsedAt),
  };
}

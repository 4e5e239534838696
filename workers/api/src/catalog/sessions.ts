/**
 * The `sessions` table: what the session objects say of themselves, for lists and filters. `api` writes a
 * new session's row first, since it holds the unique external id; the projection alone updates it.
 */
import { type SQL, and, desc, eq, gt, inArray, max, ne, or, sql } from "drizzle-orm";
import type { NewBlock } from "@sessionplane/shared/block";
import { type CompactionPolicyPatch, layerPolicies } from "@sessionplane/shared/compaction-policy";
import { formatInstant } from "@sessionplane/shared/fields";
import { type SessionId, type TenantId, parseId } from "@sessionplane/shared/ids";
import { formatMoney } from "@sessionplane/shared/money";
import { type Session, type SessionSettings, compactionStateSchema, sessionStatusSchema } from "@sessionplane/shared/session";
import { type CatalogDb, isUniqueViolation } from "./db.ts";
import type { TenantScope } from "./scope.ts";
import { type InstantBounds, type InstantList, inOrder, pastCursor, within } from "./instant-list.ts";
import { sessions } from "./schema.ts";

/** A tenant's sessions. A row that an erasure left behind is none. */
const ofTenant = (tenantId: TenantId): SQL | undefined => and(eq(sessions.tenantId, tenantId), ne(sessions.status, "erased"));

const NO_USAGE = { usageEvents: 0, inputTokens: 0, outputTokens: 0, listNano: 0, billedNano: 0, unpricedEvents: 0 };

/** What its object needs to be opened with. */
export type SessionToOpen = {
  readonly settings: SessionSettings;
  readonly created_at: number;
  readonly blocks: readonly NewBlock[];
};

/** The row of a session whose object is opened next. False when the id or external id is taken. */
export async function insertSession(
  db: CatalogDb,
  tenantId: TenantId,
  id: SessionId,
  { settings, created_at: createdAt, blocks }: SessionToOpen,
): Promise<boolean> {
  try {
    await db.insert(sessions).values({
      id,
      tenantId,
      externalId: settings.external_id,
      name: settings.name,
      userId: settings.user_id,
      model: settings.model,
      source: settings.source,
      status: "active",
      parentSessionId: settings.parent_session_id,
      metadata: settings.metadata,
      tags: settings.tags,
      settings,
      blocks: blocks.length === 0 ? null : blocks,
      messageCount: 0,
      tokenEstimate: 0,
      compactionState: "idle",
      ...NO_USAGE,
      revision: 1,
      seq: 0,
      sweptAt: createdAt,
      createdAt,
      updatedAt: createdAt,
    });
    return true;
  } catch (error) {
    if (isUniqueViolation(error)) return false;
    throw error;
  }
}

export async function findSessionToOpen(db: CatalogDb, tenantId: TenantId, id: SessionId): Promise<SessionToOpen | null> {
  const row = await db
    .select({ settings: sessions.settings, createdAt: sessions.createdAt, blocks: sessions.blocks })
    .from(sessions)
    .where(and(ofTenant(tenantId), eq(sessions.id, id)))
    .get();
  return row === undefined ? null : { settings: row.settings, created_at: row.createdAt, blocks: row.blocks ?? [] };
}

export async function findSessionIdByExternalId(db: CatalogDb, tenantId: TenantId, externalId: string): Promise<string | null> {
  const row = await db
    .select({ id: sessions.id })
    .from(sessions)
    .where(and(ofTenant(tenantId), eq(sessions.externalId, externalId)))
    .get();
  return row?.id ?? null;
}

export type SessionFilter = InstantList & {
  readonly sort: "created_at" | "updated_at";
  readonly updatedAt: InstantBounds;
  readonly status?: "active" | "ended" | undefined;
  readonly userId?: string | undefined;
  readonly model?: string | undefined;
  readonly source?: string | undefined;
  readonly tag?: string | undefined;
  readonly parentSessionId?: string | undefined;
  readonly externalId?: string | undefined;
  readonly metadata: readonly (readonly [key: string, value: string])[];
  /** A part of the name, whatever its case. */
  readonly q?: string | undefined;
};

const equals = (column: Parameters<typeof eq>[0], value: string | undefined): SQL | undefined =>
  value === undefined ? undefined : eq(column, value);

function conditions(tenantId: TenantId, filter: SessionFilter): SQL | undefined {
  const byInstant = filter.sort === "updated_at" ? sessions.updatedAt : sessions.createdAt;
  return and(
    ofTenant(tenantId),
    equals(sessions.status, filter.status),
    equals(sessions.userId, filter.userId),
    equals(sessions.model, filter.model),
    equals(sessions.source, filter.source),
    equals(sessions.parentSessionId, filter.parentSessionId),
    equals(sessions.externalId, filter.externalId),
    filter.tag === undefined ? undefined : sql`EXISTS (SELECT 1 FROM json_each(${sessions.tags}) WHERE value = ${filter.tag})`,
    ...filter.metadata.map(
      ([key, value]) =>
        sql`EXISTS (SELECT 1 FROM json_each(${sessions.metadata}) AS pair WHERE pair.key = ${key} AND pair.value = ${value})`,
    ),
    // instr, since LIKE takes wildcards from the text and is limited to 50 bytes in D1.
    filter.q === undefined ? undefined : sql`instr(lower(${sessions.name}), lower(${filter.q})) > 0`,
    within(sessions.createdAt, filter.createdAt),
    within(sessions.updatedAt, filter.updatedAt),
    pastCursor(byInstant, sessions.id, filter),
  );
}

/** More than that no index is asked about. */
const MAX_SESSIONS_OF_USER = 1_000;

/** The ones that were written to last. */
export async function sessionIdsOfUser(db: CatalogDb, tenantId: TenantId, userId: string): Promise<string[]> {
  const rows = await db
    .select({ id: sessions.id })
    .from(sessions)
    .where(and(ofTenant(tenantId), eq(sessions.userId, userId)))
    .orderBy(desc(sessions.updatedAt))
    .limit(MAX_SESSIONS_OF_USER)
    .all();
  return rows.map(({ id }) => id);
}

/** After its erasure a session may still hear of calls that were under way. */
const LATE_CALLS_MS = 86_400_000;

/** Sessions that may have facts of which the catalog knows nothing, in no order. */
export async function sessionIdsToAsk(
  db: CatalogDb,
  tenantId: TenantId,
  { userId }: { readonly userId?: string },
  limit: number,
): Promise<string[]> {
  const isAwake = or(ne(sessions.status, "erased"), gt(sessions.updatedAt, Date.now() - LATE_CALLS_MS));
  const rows = await db
    .select({ id: sessions.id })
    .from(sessions)
    .where(and(eq(sessions.tenantId, tenantId), isAwake, equals(sessions.userId, userId)))
    .limit(limit)
    .all();
  return rows.map(({ id }) => id);
}

/** Whose a session is, also when it was erased. For operators, whose ids are of any tenant. */
export async function tenantOfSession(db: CatalogDb, id: SessionId): Promise<TenantId | null> {
  const row = await db.select({ tenantId: sessions.tenantId }).from(sessions).where(eq(sessions.id, id)).get();
  return row === undefined ? null : parseId("tenant", row.tenantId);
}

/** One row more than the limit. */
export async function listSessions(
  db: CatalogDb,
  tenantId: TenantId,
  tenantPolicy: CompactionPolicyPatch,
  filter: SessionFilter,
): Promise<Session[]> {
  const byInstant = filter.sort === "updated_at" ? sessions.updatedAt : sessions.createdAt;
  const rows = await db
    .select()
    .from(sessions)
    .where(conditions(tenantId, filter))
    .orderBy(...inOrder(byInstant, sessions.id, filter.order))
    .limit(filter.limit + 1)
    .all();
  return rows.map((row) => toSession(row, tenantPolicy));
}

/** The sessions that no sweep has touched for longest, marked as touched now. Across tenants: a sweep serves them all. */
export async function takeForSweep(db: CatalogDb, limit: number): Promise<{ tenantId: string; id: string }[]> {
  const oldest = db.select({ id: sessions.id }).from(sessions).orderBy(sessions.sweptAt).limit(limit);
  return db
    .update(sessions)
    .set({ sweptAt: Date.now() })
    .where(inArray(sessions.id, oldest))
    .returning({ tenantId: sessions.tenantId, id: sessions.id });
}

/** The instant of the newest fact that the catalog has applied; null before the first. */
export async function catalogAsOf(db: CatalogDb, scope: TenantScope): Promise<string | null> {
  const newest = db.select({ at: max(sessions.updatedAt) }).from(sessions);
  const row = await (scope === "all_tenants" ? newest : newest.where(eq(sessions.tenantId, scope))).get();
  return row === undefined || row.at === null ? null : formatInstant(row.at);
}

function toSession(row: typeof sessions.$inferSelect, tenantPolicy: CompactionPolicyPatch): Session {
  return {
    id: row.id,
    tenant_id: row.tenantId,
    name: row.name,
    external_id: row.externalId,
    user_id: row.userId,
    status: sessionStatusSchema.parse(row.status),
    end_reason: row.endReason,
    parent_session_id: row.parentSessionId,
    model: row.model,
    source: row.source,
    metadata: row.metadata,
    tags: row.tags,
    leaf_id: row.leafId,
    message_count: row.messageCount,
    token_estimate: row.tokenEstimate,
    usage: {
      events: row.usageEvents,
      input_tokens: row.inputTokens,
      output_tokens: row.outputTokens,
      cost: formatMoney(row.billedNano),
      list_cost: formatMoney(row.listNano),
      unpriced_events: row.unpricedEvents,
    },
    compaction: {
      threshold: layerPolicies(tenantPolicy, row.settings.compaction).threshold,
      state: compactionStateSchema.parse(row.compactionState),
      open_job_id: row.openJobId,
      policy: row.settings.compaction,
    },
    created_at: formatInstant(row.createdAt),
    updated_at: formatInstant(row.updatedAt),
    revision: row.revision,
  };
}

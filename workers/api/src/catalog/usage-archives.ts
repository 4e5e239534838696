/** The `usage_archives` and `archived_usage` tables: which events are in files, and how they leave `usage_events`. */
import { and, eq, gte, lt, sql } from "drizzle-orm";
import { formatInstant } from "@sessionplane/shared/fields";
import { type TenantId, parseId } from "@sessionplane/shared/ids";
import type { UsageArchive } from "@sessionplane/shared/ledger-archive";
import { MORE_THAN_A_DAY_MS } from "@sessionplane/shared/report";
import { formatMoney } from "@sessionplane/shared/money";
import { sumOf } from "@sessionplane/shared/priced-usage";
import type { TenantScope } from "./scope.ts";
import type { CatalogDb } from "./db.ts";
import { type InstantList, inOrder, pastCursor, within } from "./instant-list.ts";
import { usageArchives } from "./ledger-schema.ts";
import { tenants } from "./schema.ts";

/** A row of `usage_events`. `event`: JSON. */
export type ArchivedRow = {
  readonly session_id: string;
  readonly event_id: string;
  readonly seq: number;
  readonly recorded_at: number;
  readonly occurred_at: number;
  readonly list_nano: number;
  readonly billed_nano: number;
  readonly event: string;
};

export type StoredFile = Pick<UsageArchive, "id" | "key" | "bytes" | "sha256">;

/** Some tenants with usage before an instant, in no order. Across tenants: for the sweep. */
export async function tenantsToArchive(
  db: CatalogDb,
  before: number,
  limit: number,
): Promise<{ tenantId: TenantId; timeZone: string }[]> {
  const rows = await db
    .select({ id: tenants.id, settings: tenants.settings })
    .from(tenants)
    .where(
      sql`EXISTS (SELECT 1 FROM usage_events AS e WHERE e.tenant_id = ${tenants.id} AND e.occurred_at < ${before})
        OR EXISTS (SELECT 1 FROM usage_rollups AS r WHERE r.tenant_id = ${tenants.id} AND r.bucket < ${before - MORE_THAN_A_DAY_MS})`,
    )
    .orderBy(sql`random()`)
    .limit(limit)
    .all();
  return rows.flatMap(({ id, settings }) => {
    const tenantId = parseId("tenant", id);
    return tenantId === null ? [] : [{ tenantId, timeZone: settings.billing_timezone }];
  });
}

/** Sessions that one look walks over, from one to the next in the index. */
const MAX_WALKED = 500;

/**
 * Sessions with events before an instant, by id; as many as wanted, or fewer. `next`: the one after which there may be
 * more; null when there is none.
 */
export async function sessionsToArchive(
  db: CatalogDb,
  tenantId: TenantId,
  before: number,
  after: string,
  limit: number,
): Promise<{ ids: string[]; next: string | null }> {
  const walked = await db.all<{ id: string; old: number }>(sql`
WITH RECURSIVE walk (id) AS (
  SELECT min(session_id) FROM usage_events WHERE tenant_id = ${tenantId} AND session_id > ${after}
  UNION ALL
  SELECT (SELECT min(session_id) FROM usage_events WHERE tenant_id = ${tenantId} AND session_id > walk.id)
  FROM walk WHERE walk.id IS NOT NULL
  LIMIT ${MAX_WALKED})
SELECT id, EXISTS (SELECT 1 FROM usage_events AS e
  WHERE e.tenant_id = ${tenantId} AND e.session_id = walk.id AND e.occurred_at < ${before}) AS old
FROM walk WHERE id IS NOT NULL`);
  const old = walked.filter((one) => one.old === 1).map(({ id }) => id);
  const ids = old.slice(0, limit);
  const isCut = old.length > limit || walked.length === MAX_WALKED;
  const last = old.length > limit ? ids.at(-1) : walked.at(-1)?.id;
  return { ids, next: isCut ? (last ?? null) : null };
}

/** Up to where in its log a session's events are all of before an instant; 0: its first is not. */
export async function archivableSeq(db: CatalogDb, tenantId: TenantId, sessionId: string, before: number): Promise<number> {
  const [row] = await db.all<{ through: number | null }>(sql`
SELECT coalesce(min(CASE WHEN occurred_at >= ${before} THEN seq END) - 1, max(seq)) AS through
FROM usage_events WHERE tenant_id = ${tenantId} AND session_id = ${sessionId}`);
  return row?.through ?? 0;
}

/** What a file takes. An id weighs more than its bytes: all of them are one parameter, which D1 refuses over 2 MB. */
export type Room = { readonly events: number; readonly bytes: number };

/** Oldest first, until the room is taken, by the last of them too: `room` is what is left, with nothing in it when there may be more. */
export async function eventsThrough(
  db: CatalogDb,
  tenantId: TenantId,
  sessionId: string,
  seq: number,
  room: Room,
): Promise<{ rows: ArchivedRow[]; room: Room }> {
  const found = await db.all<ArchivedRow & { so_far: number; weight: number }>(sql`
SELECT * FROM (
  SELECT *, sum(weight) OVER (ORDER BY seq) AS so_far FROM (
    SELECT session_id, event_id, seq, recorded_at, occurred_at, list_nano, billed_nano, event,
      octet_length(event) + 4 * octet_length(json_quote(event_id)) AS weight FROM usage_events
    WHERE tenant_id = ${tenantId} AND session_id = ${sessionId} AND seq <= ${seq} ORDER BY seq LIMIT ${room.events}))
WHERE so_far - weight < ${room.bytes} ORDER BY seq`);
  const rows = found.map(({ so_far: _sum, weight: _own, ...row }) => row);
  return { rows, room: { events: room.events - rows.length, bytes: room.bytes - (found.at(-1)?.so_far ?? 0) } };
}

/** What a session's events in the file add up to, and how far they go. */
function sessionsOf(tenant: TenantId, rows: readonly ArchivedRow[]) {
  return [...Map.groupBy(rows, (row) => row.session_id)].map(([session, own]) => ({
    tenant,
    session,
    through: Math.max(...own.map(({ seq }) => seq)),
    list: sumOf(own.map((row) => row.list_nano)),
    billed: sumOf(own.map((row) => row.billed_nano)),
  }));
}

/** The rows as they are found again: by their primary key. */
const FIND_AGAIN = `json_each(?1) AS e CROSS JOIN usage_events AS u
  ON u.tenant_id = e.value->>'$[0]' AND u.session_id = e.value->>'$[1]' AND u.event_id = e.value->>'$[2]'`;

const INSERT_FILE = `
INSERT INTO usage_archives (id, tenant_id, key, events, bytes, sha256, first_occurred_at, last_occurred_at, list_nano, billed_nano, created_at)
SELECT ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12 WHERE (SELECT count(*) FROM ${FIND_AGAIN}) = ?5`;

/** The file is there only when all of its events were: the condition of the rest of the batch. */
const IS_TAKEN = "EXISTS (SELECT 1 FROM usage_archives WHERE id = ?2)";

/** ?1: `[{tenant, session, through, list, billed}]`. */
const REMEMBER = `
INSERT INTO archived_usage (tenant_id, session_id, through_seq, list_nano, billed_nano)
SELECT value->>'$.tenant', value->>'$.session', value->>'$.through', value->>'$.list', value->>'$.billed'
FROM json_each(?1) WHERE ${IS_TAKEN}
ON CONFLICT (tenant_id, session_id) DO UPDATE SET through_seq = max(through_seq, excluded.through_seq),
  list_nano = list_nano + excluded.list_nano, billed_nano = billed_nano + excluded.billed_nano`;

const REMOVE = `DELETE FROM usage_events WHERE ${IS_TAKEN} AND rowid IN (SELECT u.rowid FROM ${FIND_AGAIN})`;

/**
 * The events are in the file from now on, and nowhere else. All of it or nothing: false when someone else has
 * taken one of them since they were read.
 */
export async function moveToArchive(
  catalog: D1Database,
  tenantId: TenantId,
  file: StoredFile,
  rows: readonly ArchivedRow[],
  now: number,
): Promise<boolean> {
  const places = JSON.stringify(rows.map((row) => [tenantId, row.session_id, row.event_id]));
  const instants = rows.map((row) => row.occurred_at);
  const insert = catalog
    .prepare(INSERT_FILE)
    .bind(
      ...[
        places,
        file.id,
        tenantId,
        file.key,
        rows.length,
        file.bytes,
        file.sha256,
        Math.min(...instants),
        Math.max(...instants),
      ],
      ...[sumOf(rows.map((row) => row.list_nano)), sumOf(rows.map((row) => row.billed_nano)), now],
    );
  const remember = catalog.prepare(REMEMBER).bind(JSON.stringify(sessionsOf(tenantId, rows)), file.id);
  const remove = catalog.prepare(REMOVE).bind(places, file.id);
  const [inserted] = await catalog.batch([insert, remember, remove]);
  return (inserted?.meta.changes ?? 0) > 0;
}

const toArchive = (row: typeof usageArchives.$inferSelect): UsageArchive => ({
  id: row.id,
  tenant_id: row.tenantId,
  key: row.key,
  events: row.events,
  bytes: row.bytes,
  sha256: row.sha256,
  first_occurred_at: formatInstant(row.firstOccurredAt),
  last_occurred_at: formatInstant(row.lastOccurredAt),
  list_cost: formatMoney(row.listNano),
  cost: formatMoney(row.billedNano),
  created_at: formatInstant(row.createdAt),
});

/** One row more than the limit, by the time of archiving. */
export async function listArchives(db: CatalogDb, scope: TenantScope, list: InstantList): Promise<UsageArchive[]> {
  const { createdAt, id, tenantId } = usageArchives;
  const rows = await db
    .select()
    .from(usageArchives)
    .where(
      and(
        scope === "all_tenants" ? undefined : eq(tenantId, scope),
        within(createdAt, list.createdAt),
        pastCursor(createdAt, id, list),
      ),
    )
    .orderBy(...inOrder(createdAt, id, list.order))
    .limit(list.limit + 1)
    .all();
  return rows.map(toArchive);
}

/** Every file of a tenant. */
export async function allArchives(db: CatalogDb, tenantId: TenantId): Promise<UsageArchive[]> {
  const rows = await db.select().from(usageArchives).where(eq(usageArchives.tenantId, tenantId)).orderBy(usageArchives.createdAt);
  return rows.map(toArchive);
}

/** The files that may hold calls of a range. */
export async function archivesOf(db: CatalogDb, tenantId: TenantId, start: number, end: number): Promise<UsageArchive[]> {
  const rows = await db
    .select()
    .from(usageArchives)
    .where(
      and(eq(usageArchives.tenantId, tenantId), gte(usageArchives.lastOccurredAt, start), lt(usageArchives.firstOccurredAt, end)),
    )
    .orderBy(usageArchives.createdAt);
  return rows.map(toArchive);
}

/** As `since`: from this instant on every event is in the catalog; null: every one there is. Epoch milliseconds. */
export const eventsSinceQuery = (db: CatalogDb, scope: TenantScope) =>
  db
    .select({ since: sql<number | null>`max(${usageArchives.lastOccurredAt}) + 1`.as("since") })
    .from(usageArchives)
    .where(scope === "all_tenants" ? undefined : eq(usageArchives.tenantId, scope));

export const eventsSince = async (db: CatalogDb, scope: TenantScope): Promise<number | null> =>
  (await eventsSinceQuery(db, scope).get())?.since ?? null;

/** The `usage_days` table: what quarters of an hour become once they are old. A sum is in one of the two, never in both. */
import { MORE_THAN_A_DAY_MS } from "@sessionplane/shared/report";
import { sql } from "drizzle-orm";
import type { TenantId } from "@sessionplane/shared/ids";
import type { Interval } from "@sessionplane/shared/report";
import type { CatalogDb } from "./db.ts";

/** The first quarter of a tenant's; null: it has none. */
export async function firstQuarter(db: CatalogDb, tenantId: TenantId): Promise<number | null> {
  const [row] = await db.all<{ bucket: number | null }>(
    sql`SELECT min(bucket) AS bucket FROM usage_rollups WHERE tenant_id = ${tenantId}`,
  );
  return row?.bucket ?? null;
}

/** The days that are kept and hold some of a range, in order: each is sought, however many sums it has. */
export async function daysWithin(db: CatalogDb, tenantId: TenantId, start: number, end: number): Promise<Interval[]> {
  return db.all<Interval>(sql`
WITH RECURSIVE kept(start) AS (
  SELECT min(start) FROM usage_days WHERE tenant_id = ${tenantId} AND start > ${start} - ${MORE_THAN_A_DAY_MS} AND start < ${end}
  UNION ALL
  SELECT (SELECT min(d.start) FROM usage_days AS d WHERE d.tenant_id = ${tenantId} AND d.start > kept.start AND d.start < ${end})
  FROM kept WHERE kept.start IS NOT NULL),
days AS (
  SELECT start, (SELECT max(d."end") FROM usage_days AS d WHERE d.tenant_id = ${tenantId} AND d.start = kept.start) AS "end"
  FROM kept WHERE start IS NOT NULL)
SELECT start, "end" FROM days WHERE "end" > ${start} ORDER BY start`);
}

/** ?1: `[{start, end}]`, days in order without a gap; ?2: whose. */
export const SUM_UP_QUARTERS = `
INSERT INTO usage_days (tenant_id, start, "end", session_id, user_id, provider, model, purpose, class,
  events, quantity, list_nano, billed_nano, unpriced_events)
SELECT r.tenant_id, day.value->>'$.start', day.value->>'$.end', r.session_id, r.user_id, r.provider, r.model, r.purpose, r.class,
  sum(r.events), sum(r.quantity), sum(r.list_nano), sum(r.billed_nano), sum(r.unpriced_events)
FROM json_each(?1) AS day CROSS JOIN usage_rollups AS r ON r.tenant_id = ?2
  AND r.bucket >= (day.value->>'$.start') AND r.bucket < (day.value->>'$.end')
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
ON CONFLICT DO UPDATE SET events = events + excluded.events, quantity = quantity + excluded.quantity,
  list_nano = list_nano + excluded.list_nano, billed_nano = billed_nano + excluded.billed_nano,
  unpriced_events = unpriced_events + excluded.unpriced_events`;

export const REMOVE_QUARTERS = "DELETE FROM usage_rollups WHERE tenant_id = ?1 AND bucket >= ?2 AND bucket < ?3";

/** The quarters of these days, in order without a gap, as days. How many quarters' sums there were. */
export async function foldIntoDays(catalog: D1Database, tenantId: TenantId, days: readonly Interval[]): Promise<number> {
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return 0;
  const [, removed] = await catalog.batch([
    catalog.prepare(SUM_UP_QUARTERS).bind(JSON.stringify(days), tenantId),
    catalog.prepare(REMOVE_QUARTERS).bind(tenantId, first.start, last.end),
  ]);
  return removed?.meta.changes ?? 0;
}

export async function hasDays(db: CatalogDb, tenantId: TenantId, start: number, end: number): Promise<boolean> {
  const rows = await db.all(sql`
SELECT 1 FROM usage_days WHERE tenant_id = ${tenantId} AND start > ${start} - ${MORE_THAN_A_DAY_MS} AND start < ${end} AND "end" > ${start} LIMIT 1`);
  return rows.length > 0;
}

/** A day that an interval's end cuts in two: what is in which part nobody knows. */
export async function dayCutBy(db: CatalogDb, tenantId: TenantId, instants: readonly number[]): Promise<Interval | null> {
  const [row] = await db.all<Interval>(sql`
SELECT d.start AS start, d."end" AS "end" FROM json_each(${JSON.stringify(instants)}) AS i
CROSS JOIN usage_days AS d ON d.tenant_id = ${tenantId} AND d.start > i.value - ${MORE_THAN_A_DAY_MS} AND d.start < i.value
WHERE d."end" > i.value LIMIT 1`);
  return row ?? null;
}

/** The `usage_rollups` table beside the events that it sums up: where they differ, and summing them up again. */
import { and, eq, gte, lt, lte, sql } from "drizzle-orm";
import type { SessionId, TenantId } from "@sessionplane/shared/ids";
import { formatMoney } from "@sessionplane/shared/money";
import { formatInstant } from "@sessionplane/shared/fields";
import type { UsageClass } from "@sessionplane/shared/price";
import type { RollupDifference, SessionDifference } from "@sessionplane/shared/ledger-check";
import { type AuditEntry, auditStatement } from "./audit-events.ts";
import type { CatalogDb } from "./db.ts";
import { usageDays, usageRollups } from "./ledger-schema.ts";

/** A quarter of an hour, in milliseconds. */
export const ROLLUP_MS = 15 * 60 * 1000;

/** Half open, in whole quarters of an hour. */
export type RollupRange = { readonly tenantId: TenantId; readonly start: number; readonly end: number };

type SumKey = {
  /** Where the quarter of an hour begins, or the range that is summed up whole. */
  readonly bucket: number;
  readonly session_id: string;
  readonly user_id: string;
  readonly provider: string;
  readonly model: string;
  readonly purpose: string;
  readonly class: UsageClass;
};
export type Sum = {
  readonly events: number;
  readonly quantity: number;
  readonly list_nano: number;
  readonly billed_nano: number;
  readonly unpriced_events: number;
};
export type KeyedSum = SumKey & Sum;

const KEY = sql.raw("tenant_id, bucket, session_id, user_id, provider, model, purpose, class");
/** Written out: a parameter is a float, and so would be what is divided by it. */
const QUARTER = sql.raw(String(ROLLUP_MS));
const SUMS = sql.raw("events, quantity, list_nano, billed_nano, unpriced_events");

/** The rollups that the events make, as the projection counts them one by one. */
export const summedUp = ({ tenantId, start, end }: RollupRange) => sql`
SELECT u.tenant_id, u.occurred_at / ${QUARTER} * ${QUARTER} AS bucket, u.session_id, coalesce(u.user_id, '') AS user_id,
  u.provider, u.model, u.purpose, l.value->>'$.class' AS class,
  sum((l.key = 0) * (u.adjusts IS NULL)) AS events, sum(l.value->>'$.quantity') AS quantity,
  sum(coalesce(l.value->>'$.list_nano', 0)) AS list_nano, sum(coalesce(l.value->>'$.billed_nano', 0)) AS billed_nano,
  sum((l.key = 0) * u.unpriced) AS unpriced_events
FROM usage_events AS u, json_each(u.event, '$.lines') AS l
WHERE u.tenant_id = ${tenantId} AND u.occurred_at >= ${start} AND u.occurred_at < ${end}
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8`;

type DifferenceRow = {
  bucket: number;
  session_id: SessionId;
  user_id: string;
  provider: string;
  model: string;
  purpose: string;
  class: UsageClass;
  events: number;
  quantity: number;
  list: string;
  billed: string;
  unpriced_events: number;
};

/** By how much the events are more than the rollups say; empty where these are right. */
export async function rollupDifferences(db: CatalogDb, range: RollupRange, limit: number): Promise<RollupDifference[]> {
  const { tenantId, start, end } = range;
  const rows = await db.all<DifferenceRow>(sql`
SELECT bucket, session_id, user_id, provider, model, purpose, class, sum(events) AS events, sum(quantity) AS quantity,
  CAST(sum(list_nano) AS TEXT) AS list, CAST(sum(billed_nano) AS TEXT) AS billed, sum(unpriced_events) AS unpriced_events
FROM (
  SELECT ${KEY}, ${SUMS} FROM (${summedUp(range)})
  UNION ALL
  SELECT ${KEY}, -events, -quantity, -list_nano, -billed_nano, -unpriced_events FROM usage_rollups
  WHERE tenant_id = ${tenantId} AND bucket >= ${start} AND bucket < ${end})
GROUP BY ${KEY}
HAVING sum(events) <> 0 OR sum(quantity) <> 0 OR sum(list_nano) <> 0 OR sum(billed_nano) <> 0 OR sum(unpriced_events) <> 0
ORDER BY bucket, session_id LIMIT ${limit}`);
  return rows.map(({ bucket, user_id: user, list, billed, ...row }) => ({
    ...row,
    start: formatInstant(bucket),
    user_id: user === "" ? null : user,
    list: formatMoney(BigInt(list)),
    billed: formatMoney(BigInt(billed)),
  }));
}

/** Sessions with calls in the range whose own totals are not the sums of all their events, archived ones too. */
export async function sessionDifferences(db: CatalogDb, range: RollupRange, limit: number): Promise<SessionDifference[]> {
  const { tenantId, start, end } = range;
  const rows = await db.all<{ session_id: SessionId; list: string; billed: string }>(sql`
SELECT session_id, CAST(list AS TEXT) AS list, CAST(billed AS TEXT) AS billed
FROM (
  SELECT s.id AS session_id,
    s.list_nano - coalesce(sum(u.list_nano), 0) - coalesce(max(a.list_nano), 0) AS list,
    s.billed_nano - coalesce(sum(u.billed_nano), 0) - coalesce(max(a.billed_nano), 0) AS billed
  FROM sessions AS s
  LEFT JOIN usage_events AS u ON u.tenant_id = s.tenant_id AND u.session_id = s.id
  LEFT JOIN archived_usage AS a ON a.tenant_id = s.tenant_id AND a.session_id = s.id
  WHERE s.tenant_id = ${tenantId} AND s.id IN (
    SELECT session_id FROM usage_events WHERE tenant_id = ${tenantId} AND occurred_at >= ${start} AND occurred_at < ${end}
    UNION SELECT session_id FROM usage_days WHERE tenant_id = ${tenantId} AND start >= ${start} AND start < ${end})
  GROUP BY s.id)
WHERE list <> 0 OR billed <> 0
ORDER BY session_id LIMIT ${limit}`);
  return rows.map(({ session_id, list, billed }) => ({
    session_id,
    list: formatMoney(BigInt(list)),
    billed: formatMoney(BigInt(billed)),
  }));
}

/** What the events that are in the catalog sum up to, by quarters. */
export const eventSums = (db: CatalogDb, range: RollupRange): Promise<KeyedSum[]> => db.all<KeyedSum>(summedUp(range));

/** What reports read, quarters and days together. */
export const keptSums = (db: CatalogDb, { tenantId, start, end }: RollupRange): Promise<KeyedSum[]> =>
  db.all<KeyedSum>(sql`
SELECT bucket, session_id, user_id, provider, model, purpose, class, ${SUMS} FROM usage_rollups
WHERE tenant_id = ${tenantId} AND bucket >= ${start} AND bucket < ${end}
UNION ALL SELECT start, session_id, user_id, provider, model, purpose, class, ${SUMS} FROM usage_days
WHERE tenant_id = ${tenantId} AND start >= ${start} AND "end" <= ${end}`);

/** In one transaction: a report sees the old rollups or the new ones. */
export async function rebuildRollups(db: CatalogDb, range: RollupRange, audit: AuditEntry): Promise<void> {
  const { tenantId, bucket } = usageRollups;
  const old = and(eq(tenantId, range.tenantId), gte(bucket, range.start), lt(bucket, range.end));
  await db.batch([
    auditStatement(db, audit),
    db.delete(usageRollups).where(old),
    db.insert(usageRollups).select(summedUp(range)),
  ]);
}

/** Of one statement's JSON parameter. */
const SUMS_A_STATEMENT = 2_000;

/** The columns in the order of the table. */
const insertSums = (db: CatalogDb, tenantId: TenantId, sums: readonly KeyedSum[]) =>
  db.insert(usageRollups).select(sql`
SELECT ${tenantId}, value->>'$.bucket', value->>'$.session_id', value->>'$.user_id', value->>'$.provider', value->>'$.model',
  value->>'$.purpose', value->>'$.class', value->>'$.events', value->>'$.quantity', value->>'$.list_nano',
  value->>'$.billed_nano', value->>'$.unpriced_events' FROM json_each(${JSON.stringify(sums)})`);

/** The range's quarters and days, as these quarters. In one transaction. */
export async function replaceSums(
  db: CatalogDb,
  { tenantId, start, end }: RollupRange,
  sums: readonly KeyedSum[],
  audit: AuditEntry,
): Promise<void> {
  const quarters = and(eq(usageRollups.tenantId, tenantId), gte(usageRollups.bucket, start), lt(usageRollups.bucket, end));
  const days = and(eq(usageDays.tenantId, tenantId), gte(usageDays.start, start), lte(usageDays.end, end));
  const chunks = Array.from({ length: Math.ceil(sums.length / SUMS_A_STATEMENT) }, (_, index) =>
    sums.slice(index * SUMS_A_STATEMENT, (index + 1) * SUMS_A_STATEMENT),
  );
  await db.batch([
    auditStatement(db, audit),
    db.delete(usageRollups).where(quarters),
    db.delete(usageDays).where(days),
    ...chunks.map((chunk) => insertSums(db, tenantId, chunk)),
  ]);
}

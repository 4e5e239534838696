/** The `usage_rollups` table beside the events that it sums up: and where they differ. */
import { sql } from "drizzle-orm";
import type { SessionId, TenantId } from "@sessionplane/shared/ids";
import { formatMoney } from "@sessionplane/shared/money";
import { QUARTER_MS } from "@sessionplane/shared/report";
import { formatInstant } from "@sessionplane/shared/fields";
import type { UsageClass } from "@sessionplane/shared/price";
import type { RollupDifference, SessionDifference } from "@sessionplane/shared/ledger-check";
import { type CatalogDb, batchOf } from "./db.ts";

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

export const KEY = sql.raw("tenant_id, bucket, session_id, user_id, provider, model, purpose, class");
/** Written out: a parameter is a float, and so would be what is divided by it. */
const QUARTER = sql.raw(String(QUARTER_MS));
export const SUMS = sql.raw("events, quantity, list_nano, billed_nano, unpriced_events");

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
    UNION SELECT session_id FROM usage_rollups WHERE tenant_id = ${tenantId} AND bucket >= ${start} AND bucket < ${end}
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

/** What the events that are in the catalog sum up to, by quarters, and what reports read then, quarters and days together. */
export async function presentSums(db: CatalogDb, range: RollupRange): Promise<{ events: KeyedSum[]; kept: KeyedSum[] }> {
  const { tenantId, start, end } = range;
  const reported = sql`
SELECT bucket, session_id, user_id, provider, model, purpose, class, ${SUMS} FROM usage_rollups
WHERE tenant_id = ${tenantId} AND bucket >= ${start} AND bucket < ${end}
UNION ALL SELECT start, session_id, user_id, provider, model, purpose, class, ${SUMS} FROM usage_days
WHERE tenant_id = ${tenantId} AND start >= ${start} AND "end" <= ${end}`;
  const [events, kept] = await batchOf<KeyedSum>(db, [summedUp(range), reported]);
  return { events: events?.results ?? [], kept: kept?.results ?? [] };
}

/**
 * The `usage_rollups` of a range made anew of its events. What is in files was read before: nothing is written
 * unless it is still all that is in files. What is in the catalog is summed up in the same transaction, so that a
 * call that comes meanwhile is in it, or is added to it.
 */
import { MORE_THAN_A_DAY_MS } from "@sessionplane/shared/report";
import { sql } from "drizzle-orm";
import { newId } from "@sessionplane/shared/ids";
import type { AuditEntry } from "./audit-events.ts";
import { type CatalogDb, batchOf } from "./db.ts";
import { KEY, type KeyedSum, type RollupRange, SUMS, summedUp } from "./rollups.ts";

/** What of a range is in files, and how many files there are. */
export type FiledSums = { readonly files: number; readonly sums: readonly KeyedSum[] };

/** Of one statement's JSON parameter: D1 refuses one over 2 MB. */
const SUMS_A_STATEMENT = 500;

const noDayAcross = ({ tenantId }: RollupRange, instant: number) => sql`NOT EXISTS (SELECT 1 FROM usage_days
WHERE tenant_id = ${tenantId} AND start > ${instant} - ${MORE_THAN_A_DAY_MS} AND start < ${instant} AND "end" > ${instant})`;

const isStill = (range: RollupRange, files: number) => sql`
(SELECT count(*) FROM usage_archives WHERE tenant_id = ${range.tenantId} AND last_occurred_at >= ${range.start}
  AND first_occurred_at < ${range.end}) = ${files} AND ${noDayAcross(range, range.start)} AND ${noDayAcross(range, range.end)}`;

const ADDING = sql`ON CONFLICT (${KEY}) DO UPDATE SET events = events + excluded.events, quantity = quantity + excluded.quantity,
  list_nano = list_nano + excluded.list_nano, billed_nano = billed_nano + excluded.billed_nano,
  unpriced_events = unpriced_events + excluded.unpriced_events`;

/** A report sees the old sums or the new ones. False, and nothing is changed: events went to a file since, or a day lies across an end. */
export async function rebuildRollups(
  db: CatalogDb,
  range: RollupRange,
  { files, sums }: FiledSums,
  audit: AuditEntry,
): Promise<boolean> {
  const { tenantId, start, end } = range;
  const still = isStill(range, files);
  const chunks = Array.from({ length: Math.ceil(sums.length / SUMS_A_STATEMENT) }, (_, index) =>
    sums.slice(index * SUMS_A_STATEMENT, (index + 1) * SUMS_A_STATEMENT),
  );
  const [audited] = await batchOf(db, [
    sql`INSERT INTO audit_events (id, tenant_id, actor, action, target, request_id, occurred_at)
SELECT ${newId("audit")}, ${audit.tenantId}, ${audit.actor}, ${audit.action}, ${audit.target}, ${audit.requestId}, ${Date.now()} WHERE ${still}`,
    sql`DELETE FROM usage_rollups WHERE tenant_id = ${tenantId} AND bucket >= ${start} AND bucket < ${end} AND ${still}`,
    sql`DELETE FROM usage_days WHERE tenant_id = ${tenantId} AND start >= ${start} AND "end" <= ${end} AND ${still}`,
    ...chunks.map(
      (chunk) =>
        sql`INSERT INTO usage_rollups (${KEY}, ${SUMS})
SELECT ${tenantId}, value->>'$.bucket', value->>'$.session_id', value->>'$.user_id', value->>'$.provider', value->>'$.model',
  value->>'$.purpose', value->>'$.class', value->>'$.events', value->>'$.quantity', value->>'$.list_nano',
  value->>'$.billed_nano', value->>'$.unpriced_events' FROM json_each(${JSON.stringify(chunk)}) WHERE ${still} ${ADDING}`,
    ),
    sql`INSERT INTO usage_rollups (${KEY}, ${SUMS}) SELECT ${KEY}, ${SUMS} FROM (${summedUp(range)}) WHERE ${still} ${ADDING}`,
  ]);
  return (audited?.meta.changes ?? 0) > 0;
}

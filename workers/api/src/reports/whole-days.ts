/** Reports that reach back to where usage is kept by day, and events are in files: what they may ask for. */
import { formatInstant } from "@sessionplane/shared/fields";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { splitAtQuarters } from "./query.ts";
import type { TenantScope } from "../http/tenant-scope.ts";
import type { Interval } from "./buckets.ts";

const refuse = (detail: string): Problem =>
  problem("range_too_fine", detail, { errors: [{ pointer: "?bucket", code: "range_too_fine", message: detail }] });

/** ?1 the instants between which buckets lie, ?2 tenant or null. */
const CUT = `
SELECT d.start AS start, d."end" AS "end" FROM json_each(?1) AS i
CROSS JOIN usage_days AS d ON d.start > i.value - 172800000 AND d.start < i.value AND (?2 IS NULL OR d.tenant_id = ?2)
WHERE d."end" > i.value LIMIT 1`;

/** A bucket's end within a day that is kept whole. */
async function cutDay(catalog: D1Database, tenant: string | null, buckets: readonly Interval[]): Promise<Interval | null> {
  const instants = [...buckets.map(({ start }) => start), ...buckets.slice(-1).map(({ end }) => end)];
  return catalog.prepare(CUT).bind(JSON.stringify(instants), tenant).first<Interval>();
}

/** `since`: from then on every event is in the catalog; null: all are. */
export async function checkReach(
  catalog: D1Database,
  scope: TenantScope,
  buckets: readonly Interval[],
  since: number | null,
): Promise<Problem | null> {
  const fine =
    since === null ? undefined : buckets.flatMap((bucket) => splitAtQuarters(bucket).edges).find(({ start }) => start < since);
  if (fine !== undefined && since !== null)
    return refuse(
      `Events from before ${formatInstant(since)} are archived: a report of then begins and ends at quarters of an hour.`,
    );
  const day = await cutDay(catalog, scope === "all_tenants" ? null : scope, buckets);
  if (day === null) return null;
  const [start, end] = [formatInstant(day.start), formatInstant(day.end)];
  return refuse(
    `Usage from ${start} to ${end} is kept as one day: a bucket can't begin or end in it. Ask for days or months of its time zone.`,
  );
}

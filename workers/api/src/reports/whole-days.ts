/** Reports that reach back to where usage is kept by day, and events are in files: what they may ask for. */
import { MORE_THAN_A_DAY_MS } from "@sessionplane/shared/report";
import { formatInstant } from "@sessionplane/shared/fields";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { splitAtQuarters } from "./query.ts";
import type { TenantScope } from "../catalog/scope.ts";
import type { Interval } from "@sessionplane/shared/report";

const refuse = (detail: string): Problem =>
  problem("range_too_fine", detail, { errors: [{ pointer: "?bucket", code: "range_too_fine", message: detail }] });

/** ?1 the instants between which buckets lie, ?2 tenant or null. A tenant's own days alone are looked at. */
const cutSql = (whose: string): string => `
SELECT d.start AS start, d."end" AS "end" FROM json_each(?1) AS i
CROSS JOIN usage_days AS d ON ${whose} AND d.start > i.value - ${MORE_THAN_A_DAY_MS} AND d.start < i.value
WHERE d."end" > i.value LIMIT 1`;

/** Finds a bucket's end within a day that is kept whole. */
export function cutDayStatement(catalog: D1Database, scope: TenantScope, buckets: readonly Interval[]): D1PreparedStatement {
  const instants = [...buckets.map(({ start }) => start), ...buckets.slice(-1).map(({ end }) => end)];
  const isAll = scope === "all_tenants";
  return catalog.prepare(cutSql(isAll ? "?2 IS NULL" : "d.tenant_id = ?2")).bind(JSON.stringify(instants), isAll ? null : scope);
}

/** `since`: from then on every event is in the catalog; null: all are. `day`: one that a bucket cuts, if there is one. */
export function refusalOf(buckets: readonly Interval[], since: number | null, day: Interval | undefined): Problem | null {
  const fine =
    since === null ? undefined : buckets.flatMap((bucket) => splitAtQuarters(bucket).edges).find(({ start }) => start < since);
  if (fine !== undefined && since !== null)
    return refuse(
      `Events from before ${formatInstant(since)} are archived: a report of then begins and ends at quarters of an hour.`,
    );
  if (day === undefined) return null;
  const [start, end] = [formatInstant(day.start), formatInstant(day.end)];
  return refuse(
    `Usage from ${start} to ${end} is kept as one day: a bucket can't begin or end in it. Ask for days or months of its time zone.`,
  );
}

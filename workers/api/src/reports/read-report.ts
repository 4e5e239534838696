/** A report's rows, and whether it may be asked for, as of one moment: what is archived meanwhile changes neither. */
import type { Problem } from "@sessionplane/shared/problem";
import type { ReportGroup } from "@sessionplane/shared/report";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { connect } from "../catalog/db.ts";
import { eventsSinceQuery } from "../catalog/usage-archives.ts";
import type { TenantScope } from "../http/tenant-scope.ts";
import type { Interval } from "./buckets.ts";
import { type ReportFilter, type ReportRow, reportSql } from "./query.ts";
import { cutDayStatement, refusalOf } from "./whole-days.ts";

/** Rows by bucket, group and class. `maxRows` + 1 rows mean that there are more. */
export async function readReport(
  catalog: D1Database,
  scope: TenantScope,
  buckets: readonly Interval[],
  groupBy: readonly ReportGroup[],
  filter: ReportFilter,
  maxRows: number,
): Promise<Result<readonly ReportRow[], Problem>> {
  const reach = eventsSinceQuery(connect(catalog), scope).toSQL();
  const report = reportSql(scope, buckets, groupBy, filter, maxRows);
  const [reached, cut, rows] = await catalog.batch([
    catalog.prepare(reach.sql).bind(...reach.params),
    cutDayStatement(catalog, scope, buckets),
    catalog.prepare(report.text).bind(...report.parameters),
  ]);
  const since = (reached?.results[0] as { since: number | null } | undefined)?.since ?? null;
  const refused = refusalOf(buckets, since, cut?.results[0] as Interval | undefined);
  return refused === null ? ok((rows?.results ?? []) as ReportRow[]) : err(refused);
}

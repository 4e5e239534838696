/** A report's rows, and whether it may be asked for, as of one moment: what is archived meanwhile changes neither. */
import { type Problem, problem } from "@sessionplane/shared/problem";
import type { Grouping } from "@sessionplane/shared/report";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { connect } from "../catalog/db.ts";
import { eventsSinceQuery } from "../catalog/usage-archives.ts";
import type { TenantScope } from "../catalog/scope.ts";
import type { Interval } from "@sessionplane/shared/report";
import { type ReportFilter, type ReportRow, type RowLimits, reportSql } from "./query.ts";
import { cutDayStatement, refusalOf } from "./whole-days.ts";

/** `since`: from this instant on every event is in the catalog; null: every one there is. Epoch milliseconds. */
export type Reach = { readonly since: number | null };
export type ReportRead = Reach & { readonly rows: readonly ReportRow[] };

const MOVED = problem("unavailable", "Calls were archived while the report was read.");

function reachStatements(catalog: D1Database, scope: TenantScope, buckets: readonly Interval[]): D1PreparedStatement[] {
  const reach = eventsSinceQuery(connect(catalog), scope).toSQL();
  return [catalog.prepare(reach.sql).bind(...reach.params), cutDayStatement(catalog, scope, buckets)];
}

/** By tag, only events are read: what there is of them, `since` says, and that may not move while a report is read. */
function reachOf(
  [reached, cut]: readonly D1Result[],
  buckets: readonly Interval[],
  { tags }: Grouping,
  begun?: Reach,
): Result<Reach, Problem> {
  const since = (reached?.results[0] as { since: number | null } | undefined)?.since ?? null;
  const hasMoved = begun !== undefined && begun.since !== since;
  if (tags.length > 0) return hasMoved ? err(MOVED) : ok({ since });
  const refused = refusalOf(buckets, since, cut?.results[0] as Interval | undefined);
  return refused === null ? ok({ since }) : err(refused);
}

/** Whether a report may be asked for, before any of it is read. */
export async function readReach(
  catalog: D1Database,
  scope: TenantScope,
  buckets: readonly Interval[],
  grouping: Grouping,
): Promise<Result<Reach, Problem>> {
  return reachOf(await catalog.batch(reachStatements(catalog, scope, buckets)), buckets, grouping);
}

/** Rows by bucket, group and class, in that order. `begun`: the reach with which the report's first page was read. */
export async function readReport(
  catalog: D1Database,
  scope: TenantScope,
  buckets: readonly Interval[],
  grouping: Grouping,
  filter: ReportFilter,
  limits: RowLimits,
  begun?: Reach,
): Promise<Result<ReportRead, Problem>> {
  const report = reportSql(scope, buckets, grouping, filter, limits);
  const rows = catalog.prepare(report.text).bind(...report.parameters);
  const [found, ...reached] = await catalog.batch([rows, ...reachStatements(catalog, scope, buckets)]);
  const reach = reachOf(reached, buckets, grouping, begun);
  return reach.ok ? ok({ ...reach.value, rows: (found?.results ?? []) as ReportRow[] }) : reach;
}

/** `GET /v1/reports/usage` and `GET /v1/reports/cost`: as JSON, or streamed as CSV or NDJSON. */
import type { Context } from "hono";
import * as z from "zod";
import { formatInstant, formatInstantOrNull } from "@sessionplane/shared/fields";
import { type Problem, problem } from "@sessionplane/shared/problem";
import {
  type Grouping,
  type ReportFrame,
  type ReportTotals,
  costRowSchema,
  reportFrameSchema,
  usageRowSchema,
} from "@sessionplane/shared/report";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { AppEnv } from "../../env.ts";
import { principalOf } from "../../http/authenticate.ts";
import { type App, eitherRoute, reply } from "../../http/routes.ts";
import type { TenantScope } from "../../catalog/scope.ts";
import { scopeOf } from "../../http/tenant-scope.ts";
import { reportAsOf } from "../../reports/bring-in.ts";
import type { Interval } from "@sessionplane/shared/report";
import { bucketsOf } from "../../reports/buckets.ts";
import { COST_CSV, USAGE_CSV } from "../../reports/csv.ts";
import { Totals, costRows, usageRows } from "../../reports/fold.ts";
import { namesOf } from "../../reports/grouping.ts";
import { reportPages } from "../../reports/pages.ts";
import type { ReportFilter, ReportRow, RowLimits } from "../../reports/query.ts";
import { type Reach, readReach, readReport } from "../../reports/read-report.ts";
import { type ReportFormat, streamReport } from "../../reports/stream.ts";
import { type ReportQuery, UNGROUPED, filterOf, reportQuery } from "./report-query.ts";

const MAX_BUCKETS = 1_000;
const MAX_ROWS = 50_000;

/** A report that may be run: what is checked before its first row is read. */
type Prepared = {
  readonly scope: TenantScope;
  readonly buckets: readonly Interval[];
  readonly grouping: Grouping;
  readonly filter: ReportFilter;
  readonly frame: Omit<ReportFrame, "totals" | "events_since">;
};

/** How rows of one kind are made and written. */
type Kind<Row> = {
  readonly rows: (rows: readonly ReportRow[], buckets: readonly Interval[], grouping: Grouping) => Row[];
  readonly csv: Pick<ReportFormat<Row>, "head" | "line">;
};

const tooFine = (limit: string): Problem =>
  problem("range_too_fine", `A report has at most ${limit}. Ask for a shorter range, a coarser bucket or fewer groups.`, {
    errors: [{ pointer: "?bucket", code: "range_too_fine", message: `at most ${limit}` }],
  });

const OPERATORS_GROUP = problem("invalid", "Only an operator's key groups by tenant: a tenant's sees one.", {
  errors: [{ pointer: "?group_by", code: "invalid", message: "only an operator's key groups by tenant" }],
});

async function prepare(c: Context<AppEnv>, parameters: ReportQuery): Promise<Result<Prepared, Problem>> {
  const principal = principalOf(c);
  const scope = scopeOf(principal, parameters.tenant_id);
  if (!scope.ok) return scope;
  const { start, end, bucket, timezone, group_by: grouping = UNGROUPED, session_id: sessionId, user_id: userId } = parameters;
  const buckets = bucketsOf(parameters, bucket, timezone, MAX_BUCKETS);
  if (buckets === null) return err(tooFine(`${MAX_BUCKETS} buckets`));
  if (principal.kind === "tenant" && grouping.groups.includes("tenant")) return err(OPERATORS_GROUP);
  const asOf = await reportAsOf(c.env, { scope: scope.value, sessionId, userId }, parameters.exact);
  if (!asOf.ok) return asOf;
  const frame = {
    ...{ start: formatInstant(start), end: formatInstant(end), bucket, timezone, group_by: namesOf(grouping) },
    as_of: asOf.value,
  };
  return ok({ scope: scope.value, buckets, grouping, filter: filterOf(parameters), frame });
}

/** Each line is a row; the last has no row, but the totals and the rest of the report. */
const ndjson = (frame: Omit<ReportFrame, "totals">): ReportFormat<unknown> => ({
  head: "",
  line: (row) => `${JSON.stringify(row)}\n`,
  end: (totals: ReportTotals) => `${JSON.stringify({ ...frame, totals })}\n`,
});

const VARY = { Vary: "Accept" };
const CSV_HEADERS = { "Content-Type": "text/csv; charset=utf-8", "Content-Disposition": "attachment; filename=report.csv" };
const NDJSON_HEADERS = { "Content-Type": "application/x-ndjson" };

const since = (reach: Reach) => ({ events_since: formatInstantOrNull(reach.since) });

/** Page by page. What was archived since it was looked at breaks it off. */
async function stream<Row>(c: Context<AppEnv>, prepared: Prepared, kind: Kind<Row>, as: "csv" | "ndjson"): Promise<Response> {
  const { scope, buckets, grouping, frame, filter } = prepared;
  const reach = await readReach(c.env.CATALOG, scope, buckets, grouping);
  if (!reach.ok) return reply(c, reach);
  const ask = async (part: readonly Interval[], limits: RowLimits) => {
    const read = await readReport(c.env.CATALOG, scope, part, grouping, filter, limits, reach.value);
    if (!read.ok) throw new Error(read.error.detail);
    return read.value.rows;
  };
  const format = as === "csv" ? { ...kind.csv, end: () => "" } : ndjson({ ...frame, ...since(reach.value) });
  const pages = reportPages(ask, buckets, grouping);
  const body = await streamReport(pages, (rows, part) => kind.rows(rows, part, grouping), format);
  return c.body(body, 200, { ...(as === "csv" ? CSV_HEADERS : NDJSON_HEADERS), ...VARY });
}

async function answer<Row>(c: Context<AppEnv>, parameters: ReportQuery, kind: Kind<Row>): Promise<Response> {
  const prepared = await prepare(c, parameters);
  if (!prepared.ok) return reply(c, prepared);
  const accept = c.req.header("Accept") ?? "";
  if (accept.includes("text/csv")) return stream(c, prepared.value, kind, "csv");
  if (accept.includes("application/x-ndjson")) return stream(c, prepared.value, kind, "ndjson");
  const { scope, buckets, grouping, frame, filter } = prepared.value;
  const read = await readReport(c.env.CATALOG, scope, buckets, grouping, filter, { maxRows: MAX_ROWS, after: null });
  if (!read.ok) return reply(c, read);
  const { rows } = read.value;
  if (rows.length > MAX_ROWS) return reply(c, err(tooFine(`${MAX_ROWS} rows as JSON`)));
  const totals = new Totals().add(rows).show();
  return reply(c, ok({ data: kind.rows(rows, buckets, grouping), ...frame, ...since(read.value), totals }), 200, VARY);
}

const declaration = <T extends z.ZodType>(path: "/v1/reports/usage" | "/v1/reports/cost", summary: string, row: T) =>
  eitherRoute("usage:read", "reports:read", {
    method: "get",
    path,
    summary,
    description:
      "Half-open ranges of any instants. Buckets follow `timezone`. `Accept: text/csv` and `application/x-ndjson` stream any number of " +
      "rows; the last line of NDJSON has the `totals`. A stream that fails breaks off.",
    tags: ["Reports"],
    request: { query: reportQuery },
    responses: {
      200: {
        description: "The report",
        content: {
          "application/json": { schema: reportFrameSchema.extend({ data: z.array(row) }) },
          "application/x-ndjson": { schema: z.string() },
          "text/csv": { schema: z.string() },
        },
      },
    },
  });

export const registerUsageReport = (app: App) =>
  app.openapi(declaration("/v1/reports/usage", "Report usage", usageRowSchema), async (c) =>
    answer(c, c.req.valid("query"), { rows: usageRows, csv: USAGE_CSV }),
  );

export const registerCostReport = (app: App) =>
  app.openapi(declaration("/v1/reports/cost", "Report cost", costRowSchema), async (c) =>
    answer(c, c.req.valid("query"), { rows: costRows, csv: COST_CSV }),
  );

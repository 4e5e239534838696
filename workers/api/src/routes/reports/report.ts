/** `GET /v1/reports/usage` and `GET /v1/reports/cost`. */
import type { Context } from "hono";
import * as z from "zod";
import { formatInstant } from "@sessionplane/shared/fields";
import { sessionIdSchema, tenantIdSchema } from "@sessionplane/shared/ids";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { REPORT_GROUPS, type ReportGroup, bucketSchema, costRowSchema, usageRowSchema } from "@sessionplane/shared/report";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { moneySchema } from "@sessionplane/shared/money";
import { timeZoneSchema } from "@sessionplane/shared/tenant";
import { purposeSchema } from "@sessionplane/shared/usage-event";
import { connect } from "../../catalog/db.ts";
import { catalogAsOf } from "../../catalog/sessions.ts";
import type { AppEnv } from "../../env.ts";
import { principalOf } from "../../http/authenticate.ts";
import { epochSchema } from "../../http/list-query.ts";
import { type App, eitherRoute, reply } from "../../http/routes.ts";
import { scopeOf } from "../../http/tenant-scope.ts";
import { type Interval, bucketsOf } from "../../reports/buckets.ts";
import { costCsv, usageCsv } from "../../reports/csv.ts";
import { costRows, totalsOf, usageRows } from "../../reports/fold.ts";
import type { ReportRow } from "../../reports/query.ts";
import { readReport } from "../../reports/read-report.ts";

const MAX_BUCKETS = 1_000;
const MAX_ROWS = 50_000;

const isGroup = (name: string): name is ReportGroup => REPORT_GROUPS.some((group) => group === name);

const groupByShape = z.string().max(200);
const groupBySchema = groupByShape.transform((text, ctx): ReportGroup[] => {
  const names = [...new Set(text.split(",").filter((name) => name !== ""))];
  const groups = names.filter(isGroup);
  if (groups.length === names.length) return groups;
  ctx.addIssue({ code: "custom", message: `groups are ${REPORT_GROUPS.join(", ")}` });
  return z.NEVER;
});

const query = z
  .strictObject({
    start: epochSchema,
    end: epochSchema,
    bucket: bucketSchema.default("day"),
    group_by: groupBySchema.optional().meta({ description: `Some of ${REPORT_GROUPS.join(", ")}, separated by commas` }),
    timezone: timeZoneSchema.default("UTC"),
    tenant_id: tenantIdSchema.optional(),
    session_id: sessionIdSchema.optional(),
    user_id: z.string().max(128).optional(),
    model: z.string().max(200).optional(),
    provider: z.string().max(100).optional(),
    purpose: purposeSchema.optional(),
  })
  .refine(({ start, end }) => end > start, { path: ["end"], message: "must be after start; the range is half-open" });
type Query = z.output<typeof query>;

type Report = {
  readonly buckets: readonly Interval[];
  readonly groupBy: readonly ReportGroup[];
  readonly rows: readonly ReportRow[];
  readonly asOf: string | null;
};

const tooFine = (limit: string): Problem =>
  problem("range_too_fine", `A report has at most ${limit}. Ask for a shorter range, a coarser bucket or fewer groups.`, {
    errors: [{ pointer: "?bucket", code: "range_too_fine", message: `at most ${limit}` }],
  });

const OPERATORS_GROUP = problem("invalid", "Only an operator's key groups by tenant: a tenant's sees one.", {
  errors: [{ pointer: "?group_by", code: "invalid", message: "only an operator's key groups by tenant" }],
});

async function runReport(c: Context<AppEnv>, parameters: Query): Promise<Result<Report, Problem>> {
  const principal = principalOf(c);
  const scope = scopeOf(principal, parameters.tenant_id);
  if (!scope.ok) return scope;
  const buckets = bucketsOf(parameters, parameters.bucket, parameters.timezone, MAX_BUCKETS);
  if (buckets === null) return err(tooFine(`${MAX_BUCKETS} buckets`));
  const groupBy = parameters.group_by ?? [];
  if (principal.kind === "tenant" && groupBy.includes("tenant")) return err(OPERATORS_GROUP);
  const { session_id: sessionId, user_id: userId, model, provider, purpose } = parameters;
  const filter = { sessionId, userId, model, provider, purpose };
  // First: what is applied in between is in the rows, and the report claims less than it shows.
  const asOf = await catalogAsOf(connect(c.env.CATALOG), scope.value);
  const read = await readReport(c.env.CATALOG, scope.value, buckets, groupBy, filter, MAX_ROWS);
  if (!read.ok) return read;
  const rows = read.value;
  return rows.length > MAX_ROWS ? err(tooFine(`${MAX_ROWS} rows`)) : ok({ buckets, groupBy, rows, asOf });
}

const frameOf = (parameters: Query, report: Report) => ({
  start: formatInstant(parameters.start),
  end: formatInstant(parameters.end),
  bucket: parameters.bucket,
  timezone: parameters.timezone,
  group_by: report.groupBy,
  totals: totalsOf(report.rows),
  as_of: report.asOf,
});

const totalsSchema = z.object({
  events: z.int(),
  quantities: z.record(z.string(), z.int()),
  list_cost: moneySchema,
  cost: moneySchema,
  unpriced_events: z.int(),
});
const reportOf = <T extends z.ZodType>(row: T) =>
  z.object({
    data: z.array(row),
    start: z.iso.datetime(),
    end: z.iso.datetime(),
    bucket: bucketSchema,
    timezone: z.string(),
    group_by: z.array(z.string()),
    totals: totalsSchema,
    as_of: z.iso.datetime().nullable(),
  });

const declaration = <T extends z.ZodType>(path: "/v1/reports/usage" | "/v1/reports/cost", summary: string, row: T) =>
  eitherRoute("usage:read", "reports:read", {
    method: "get",
    path,
    summary,
    description: "Half-open ranges of any instants. Buckets follow `timezone`. `Accept: text/csv` for CSV.",
    tags: ["Reports"],
    request: { query },
    responses: {
      200: {
        description: "The report",
        content: { "application/json": { schema: reportOf(row) }, "text/csv": { schema: z.string() } },
      },
    },
  });

/** JSON, or CSV when it is asked for. */
function answer<Row>(
  c: Context<AppEnv>,
  parameters: Query,
  report: Report,
  rows: readonly Row[],
  csv: (rows: readonly Row[]) => string,
): Response {
  if ((c.req.header("Accept") ?? "").includes("text/csv")) {
    return c.body(csv(rows), 200, {
      "Content-Type": "text/csv; charset=utf-8",
      "Content-Disposition": "attachment; filename=report.csv",
      Vary: "Accept",
    });
  }
  return reply(c, ok({ data: rows, ...frameOf(parameters, report) }), 200, { Vary: "Accept" });
}

export const registerUsageReport = (app: App) =>
  app.openapi(declaration("/v1/reports/usage", "Report usage", usageRowSchema), async (c) => {
    const parameters = c.req.valid("query");
    const report = await runReport(c, parameters);
    if (!report.ok) return reply(c, report);
    const { rows, buckets, groupBy } = report.value;
    return answer(c, parameters, report.value, usageRows(rows, buckets, groupBy), usageCsv);
  });

export const registerCostReport = (app: App) =>
  app.openapi(declaration("/v1/reports/cost", "Report cost", costRowSchema), async (c) => {
    const parameters = c.req.valid("query");
    const report = await runReport(c, parameters);
    if (!report.ok) return reply(c, report);
    const { rows, buckets, groupBy } = report.value;
    return answer(c, parameters, report.value, costRows(rows, buckets, groupBy), costCsv);
  });

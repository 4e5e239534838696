/** `GET /v1/reports/explain`: why the calls of a report's cell cost what they cost. */
import type { Context } from "hono";
import type * as z from "zod";
import { type ExplainedCost, MAX_EXPLAINED_LINES, explainCost, explainedCostSchema } from "@sessionplane/shared/explained-cost";
import { formatInstant, formatInstantOrNull } from "@sessionplane/shared/fields";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { reportFrameSchema } from "@sessionplane/shared/report";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { connect } from "../../catalog/db.ts";
import { eventsSince } from "../../catalog/usage-archives.ts";
import type { AppEnv } from "../../env.ts";
import { principalOf } from "../../http/authenticate.ts";
import { type App, eitherRoute, json, reply } from "../../http/routes.ts";
import { scopeOf } from "../../http/tenant-scope.ts";
import { reportAsOf } from "../../reports/bring-in.ts";
import { queryExplanation } from "../../reports/explain.ts";
import { type ExplainQuery, explainQuery, filterOf, tagsOf } from "./report-query.ts";

const explanationSchema = explainedCostSchema
  .extend(reportFrameSchema.pick({ start: true, end: true, events_since: true, as_of: true }).shape)
  .meta({ id: "ExplainedReport" });
type Explanation = z.infer<typeof explanationSchema>;

const TOO_FINE = problem(
  "range_too_fine",
  `An explanation has at most ${MAX_EXPLAINED_LINES} lines. Ask for a shorter range, or name a model.`,
);

async function explain(c: Context<AppEnv>, parameters: ExplainQuery): Promise<Result<Explanation, Problem>> {
  const scope = scopeOf(principalOf(c), parameters.tenant_id);
  if (!scope.ok) return scope;
  const { start, end, session_id: sessionId, user_id: userId, class: name } = parameters;
  const since = await eventsSince(connect(c.env.CATALOG), scope.value);
  const asOf = await reportAsOf(c.env, { scope: scope.value, sessionId, userId }, parameters.exact);
  if (!asOf.ok) return asOf;
  const filter = { ...filterOf(parameters), class: name, tags: tagsOf(parameters) };
  const sums = await queryExplanation(c.env.CATALOG, scope.value, { start, end }, filter, MAX_EXPLAINED_LINES);
  if (sums.length > MAX_EXPLAINED_LINES) return err(TOO_FINE);
  const explained: ExplainedCost = explainCost(sums, name !== undefined);
  const range = { start: formatInstant(start), end: formatInstant(end) };
  return ok({ ...explained, ...range, events_since: formatInstantOrNull(since), as_of: asOf.value });
}

export const registerExplainReport = (app: App) =>
  app.openapi(
    eitherRoute("usage:read", "reports:read", {
      method: "get",
      path: "/v1/reports/explain",
      summary: "Explain a report's cost",
      description:
        "The calls of a range by provider, model, class and price: quantity, price with source and moment, the exact product, the " +
        "rounding. With the filters of a report, and what its row says, the totals are those of the row. `tag[KEY]=VALUE` for tags.",
      tags: ["Reports"],
      request: { query: explainQuery },
      responses: { 200: json(explanationSchema, "The lines, which add up to the cost") },
    }),
    async (c) => reply(c, await explain(c, c.req.valid("query"))),
  );

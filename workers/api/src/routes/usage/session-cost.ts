/** What a session cost, split, and why. Both from its object, so exact; descendants from the catalog. */
import type { Context } from "hono";
import * as z from "zod";
import { explainedCostSchema } from "@sessionplane/shared/explained-cost";
import type { SessionId, TenantId } from "@sessionplane/shared/ids";
import { type Money, formatMoney, parseMoney } from "@sessionplane/shared/money";
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, ok } from "@sessionplane/shared/result";
import type { SessionUsage } from "@sessionplane/shared/session";
import { type SessionCost, sessionCostSchema } from "@sessionplane/shared/session-cost";
import { connect } from "../../catalog/db.ts";
import { descendantsUsage } from "../../catalog/descendants.ts";
import { catalogAsOf } from "../../catalog/sessions.ts";
import type { AppEnv } from "../../env.ts";
import { callOwned, ownerQuery } from "../../http/owned-session.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, eitherRoute, json, reply } from "../../http/routes.ts";

const added = (a: Money, b: Money): Money => formatMoney(parseMoney(a) + parseMoney(b));

const plus = (a: SessionUsage, b: SessionUsage): SessionUsage => ({
  events: a.events + b.events,
  input_tokens: a.input_tokens + b.input_tokens,
  output_tokens: a.output_tokens + b.output_tokens,
  cost: added(a.cost, b.cost),
  list_cost: added(a.list_cost, b.list_cost),
  unpriced_events: a.unpriced_events + b.unpriced_events,
});

async function costOf(c: Context<AppEnv>, asked: TenantId | undefined, id: SessionId): Promise<Result<SessionCost, Problem>> {
  const found = await callOwned(c, asked, id, (session) => session.readCost());
  if (!found.ok) return found;
  const { tenantId, value: cost } = found.value;
  const db = connect(c.env.CATALOG);
  // First: the sums may know more than it says.
  const asOf = await catalogAsOf(db, tenantId);
  const descendants = await descendantsUsage(db, tenantId, id);
  const total = plus(plus(cost.own, cost.compaction), descendants);
  const { own, compaction, ...parts } = cost;
  return ok({ own, compaction, descendants, total, ...parts, as_of: asOf });
}

export const registerSessionCost = (app: App) =>
  app.openapi(
    eitherRoute("usage:read", "reports:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/cost",
      summary: "Split a session's cost",
      description:
        "Its own calls, its compaction, and the sessions that were forked or split from it at any depth; its own part by user and by " +
        "branch. A message that a fork took over costs nothing there. Corrections are in the sums.",
      tags: ["Usage"],
      request: { params: sessionParams, query: ownerQuery },
      responses: { 200: json(sessionCostSchema, "The parts; own, compaction and descendants add up to the total") },
    }),
    async (c) => reply(c, await costOf(c, c.req.valid("query").tenant_id, c.req.valid("param").session_id)),
  );

const explainedSessionSchema = explainedCostSchema
  .extend({ session_id: z.string(), as_of: z.iso.datetime() })
  .meta({ id: "ExplainedSession" });

export const registerExplainSession = (app: App) =>
  app.openapi(
    eitherRoute("usage:read", "reports:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/usage/explain",
      summary: "Explain a session's cost",
      description: "All its calls by provider, model, class and price. From the session itself: exact, also once it is erased.",
      tags: ["Usage"],
      request: { params: sessionParams, query: ownerQuery },
      responses: { 200: json(explainedSessionSchema, "The lines, which add up to what the session cost") },
    }),
    async (c) => {
      const id = c.req.valid("param").session_id;
      const asOf = new Date().toISOString();
      const explained = await callOwned(c, c.req.valid("query").tenant_id, id, (session) => session.explainUsage());
      return reply(c, explained.ok ? ok({ session_id: id, ...explained.value.value, as_of: asOf }) : explained);
    },
  );

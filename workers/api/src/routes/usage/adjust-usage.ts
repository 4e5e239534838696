/** `POST /v1/usage-events/{event_id}/adjustments`: a correction by hand. The event stays as it was reported. */
import type { Context } from "hono";
import * as z from "zod";
import { newId } from "@sessionplane/shared/ids";
import type { Corrected } from "@sessionplane/shared/priced-usage";
import { NOT_FOUND, type Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { Written } from "@sessionplane/shared/rpc/session-rpc";
import type { AdjustedUsage } from "@sessionplane/shared/rpc/usage-rpc";
import { type ExplainedUsage, adjustUsageSchema, usageAdjustmentSchema } from "@sessionplane/shared/usage-event";
import { priceEvents } from "../../billing/price-book.ts";
import { recordAudit } from "../../catalog/audit-events.ts";
import { connect } from "../../catalog/db.ts";
import { findTenant } from "../../catalog/tenants.ts";
import type { AppEnv } from "../../env.ts";
import { auditOf } from "../../http/audit.ts";
import { idempotencyOrRequest } from "../../http/idempotency.ts";
import { type App, json, jsonBody, operatorRoute, reply } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callObject } from "../../session-client.ts";

const adjustedSchema = z
  .object({
    changed: z.boolean().meta({ description: "False: it says that already" }),
    adjustment: usageAdjustmentSchema.nullable(),
  })
  .meta({ id: "AdjustedUsage" });

type Input = z.output<typeof adjustUsageSchema>;

/** The call as it was in truth, by the prices of its moment. */
async function priced(c: Context<AppEnv>, event: ExplainedUsage, input: Input): Promise<Result<Corrected, Problem>> {
  if (input.usage === undefined) return ok({ lines: [], input_tokens: 0, output_tokens: 0, raw_usage: "{}" });
  const db = connect(c.env.CATALOG);
  const tenant = await findTenant(db, input.tenant_id);
  if (tenant === null) return err(NOT_FOUND);
  const { provider, model, occurred_at, provider_cost: cost } = event;
  const terms = {
    markup_bps: event.markup_bps ?? tenant.settings.markup_bps,
    // What held of the call goes on to hold, as when it is rated again.
    trust_provider_cost: tenant.settings.trust_provider_cost || event.cost_source === "provider",
  };
  const asNew = { id: event.event_id, provider, model, occurred_at, usage: input.usage };
  const told = cost === null ? asNew : { ...asNew, provider_cost: cost };
  const result = await priceEvents(db, input.tenant_id, terms, [told], () => "");
  if (!result.ok) return result;
  const [one] = result.value;
  return one === undefined ? err(NOT_FOUND) : ok(one);
}

async function adjust(c: Context<AppEnv>, eventId: string, input: Input): Promise<Result<Written<AdjustedUsage>, Problem>> {
  const { tenant_id: tenantId, session_id: sessionId, reason } = input;
  const event = await callObject(c.env, tenantId, sessionId, (session) => session.explainUsageEvent(eventId));
  if (!event.ok) return event;
  const to = await priced(c, event.value, input);
  if (!to.ok) return to;
  const { lines, input_tokens, output_tokens, raw_usage, inconsistent } = to.value;
  const change = {
    ...{ event_id: eventId, id: newId("usage"), reason },
    to: { lines, input_tokens, output_tokens, raw_usage, ...(inconsistent === undefined ? {} : { inconsistent }) },
    idempotency: await idempotencyOrRequest(c),
  };
  const adjusted = await callObject(c.env, tenantId, sessionId, (session) => session.adjustUsage(change));
  if (adjusted.ok) await recordAudit(connect(c.env.CATALOG), auditOf(c, "usage.adjust", eventId, tenantId));
  return adjusted;
}

export const registerAdjustUsage = (app: App) =>
  app.openapi(
    operatorRoute("prices:write", {
      method: "post",
      path: "/v1/usage-events/{event_id}/adjustments",
      summary: "Correct a usage event",
      description:
        "Takes back what holds of the event and posts `usage` in its place, by the prices of the call's moment; without `usage` the " +
        "call is taken back whole. Totals, reports and `explain` follow; the event stays as it was reported.",
      tags: ["Usage"],
      request: { params: z.object({ event_id: z.string().min(1).max(128) }), body: jsonBody(adjustUsageSchema) },
      responses: { 201: json(adjustedSchema, "The correction"), 200: json(adjustedSchema, "It says that already") },
    }),
    async (c) => {
      const adjusted = await adjust(c, c.req.valid("param").event_id, c.req.valid("json"));
      if (!adjusted.ok) return reply(c, adjusted);
      return replyWritten(c, adjusted, adjusted.value.value.changed ? 201 : 200);
    },
  );

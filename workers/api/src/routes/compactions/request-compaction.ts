/** `POST /v1/sessions/{session_id}/compactions`: by hand, whatever the threshold; a plan of it; or a summary of one's own. */
import type { Context } from "hono";
import {
  type CompactionPlanReply,
  compactionJobSchema,
  plannedCompactionSchema,
  requestCompactionSchema,
} from "@sessionplane/shared/compaction-job";
import { formatMoney } from "@sessionplane/shared/money";
import { overlaySchema } from "@sessionplane/shared/overlay";
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { priceEvents } from "../../billing/price-book.ts";
import { connect } from "../../catalog/db.ts";
import type { AppEnv } from "../../env.ts";
import { missingScope, tenantOf } from "../../http/authenticate.ts";
import { idempotencyOf, idempotencyOrRequest } from "../../http/idempotency.ts";
import { sessionParams } from "../../http/params.ts";
import { type TenantPrincipal, rulesOf, sourceOf } from "../../http/principal.ts";
import { type App, json, optionalJsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";

type PlannedReply = { plan: CompactionPlanReply; estimated_cost: { amount: string; currency: "USD" } | null };

/** What the calls would cost by the prices that hold now. A plane's own model is not known here. */
async function withCost(c: Context<AppEnv>, tenant: TenantPrincipal, plan: CompactionPlanReply): Promise<PlannedReply> {
  if (plan.kind === "skip" || plan.model === null) return { plan, estimated_cost: null };
  const usage = { input: plan.tokens, output: plan.target_tokens };
  const event = { id: "planned", model: plan.model, purpose: "compaction" as const, status: "estimated" as const, usage };
  const { tenantId, settings } = tenant;
  const priced = await priceEvents(connect(c.env.CATALOG), tenantId, settings, [event], () => "/model");
  const lines = priced.ok ? (priced.value[0]?.lines ?? []) : [];
  const billed = lines.map((line) => line.billed_nano);
  if (lines.length === 0 || billed.includes(null)) return { plan, estimated_cost: null };
  return { plan, estimated_cost: formatMoney(billed.reduce<number>((sum, amount) => sum + (amount ?? 0), 0)) };
}

async function plan(c: Context<AppEnv>, id: string, leaf: { leaf_id?: string }): Promise<Result<PlannedReply, Problem>> {
  const tenant = tenantOf(c);
  const planned = await callSession(c.env, tenant, id, (session) => session.planCompaction({ rules: rulesOf(tenant), ...leaf }));
  return planned.ok ? ok(await withCost(c, tenant, planned.value)) : planned;
}

export const registerRequestCompaction = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "post",
      path: "/v1/sessions/{session_id}/compactions",
      summary: "Compact a session",
      description:
        "Answers with the job; while one of the same branch is open, with that one (409 `job_open` while one of another is). With `dry_run` it answers with the plan and changes nothing. " +
        "With `summary`, `from_id` and `to_id` it stores a summary of your own, which needs the scope `sessions:write-as-server`: " +
        "models read it as the conversation.",
      tags: ["Compactions"],
      request: { params: sessionParams, body: optionalJsonBody(requestCompactionSchema) },
      responses: {
        200: json(plannedCompactionSchema, "The plan"),
        201: json(overlaySchema, "The summary"),
        202: json(compactionJobSchema, "The job"),
      },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const id = c.req.valid("param").session_id;
      const { leaf_id: leafId, dry_run: isDry, summary, from_id: from = "", to_id: to = "" } = c.req.valid("json");
      const leaf = leafId === undefined ? {} : { leaf_id: leafId };
      if (isDry === true) return reply(c, await plan(c, id, leaf));
      if (summary !== undefined) {
        if (sourceOf(tenant) !== "server") return reply(c, err(missingScope("sessions:write-as-server")));
        const input = { summary, from_id: from, to_id: to, idempotency: await idempotencyOrRequest(c) };
        return replyWritten(c, await callSession(c.env, tenant, id, (session) => session.addOverlay(input)), 201);
      }
      const input = { rules: rulesOf(tenant), ...leaf, ...(await idempotencyOf(c)) };
      return replyWritten(c, await callSession(c.env, tenant, id, (session) => session.requestCompaction(input)), 202);
    },
  );

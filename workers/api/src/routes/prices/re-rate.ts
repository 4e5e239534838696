/** `POST /v1/re-rates`: what calls cost by the prices that are known now, as a difference or as corrections. */
import type { Context } from "hono";
import type * as z from "zod";
import { newId, parseId } from "@sessionplane/shared/ids";
import { MAX_RE_RATED, type ReRating, reRateSchema, reRatingSchema } from "@sessionplane/shared/price";
import { type Problem, fieldProblem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { forgetPrices } from "../../billing/price-book.ts";
import { type Rerated, diffOf, isChanged, rerateAll } from "../../reports/re-rate.ts";
import { recordAudit } from "../../catalog/audit-events.ts";
import { type CatalogDb, connect } from "../../catalog/db.ts";
import { formatInstantOrNull } from "@sessionplane/shared/fields";
import { eventsSince } from "../../catalog/usage-archives.ts";
import { catalogAsOf } from "../../catalog/sessions.ts";
import { type EventRow, callsBetween } from "../../catalog/usage-events.ts";
import type { AppEnv } from "../../env.ts";
import { auditOf } from "../../http/audit.ts";
import { instantCursorSchema } from "../../http/cursor.ts";
import { pageFrom } from "../../http/list-query.ts";
import { type App, json, jsonBody, operatorRoute, reply } from "../../http/routes.ts";
import { callObject } from "../../session-client.ts";

const REASON = "rated again";

function idsOf(row: EventRow) {
  const [tenantId, sessionId] = [parseId("tenant", row.tenantId), parseId("session", row.sessionId)];
  return tenantId === null || sessionId === null ? null : { tenantId, sessionId };
}

/** Refused when it was corrected since it was read: a request that is repeated corrects nothing twice. */
async function correct(
  c: Context<AppEnv>,
  { tenantId, sessionId, row, after, tokens, inconsistent, corrections }: Rerated,
): Promise<Result<unknown, Problem>> {
  const id = newId("usage");
  const input = {
    ...{ event_id: row.eventId, id, reason: REASON },
    to: {
      ...{ lines: after, input_tokens: tokens.input, output_tokens: tokens.output, raw_usage: row.event.raw_usage },
      ...(inconsistent.length === 0 ? {} : { inconsistent: [...inconsistent] }),
    },
    corrections,
    idempotency: { key: `re-rate ${id}`, fingerprint: "" },
  };
  return callObject(c.env, tenantId, sessionId, (session) => session.adjustUsage(input));
}

type Input = z.output<typeof reRateSchema>;

async function reRate(c: Context<AppEnv>, db: CatalogDb, input: Input): Promise<Result<ReRating, Problem>> {
  const cursor = instantCursorSchema.optional().safeParse(input.cursor);
  if (!cursor.success) return err(fieldProblem("invalid", "/cursor", "is not a cursor that this list gave"));
  const { tenant_id: tenant, provider, model, limit = MAX_RE_RATED, dry_run: isDry = false } = input;
  const scope = tenant ?? "all_tenants";
  const occurredAt = { gte: Date.parse(input.start), lt: Date.parse(input.end) };
  const asOf = await catalogAsOf(db, scope);
  const rows = await callsBetween(db, scope, { limit, cursor: cursor.data, occurredAt, provider, model });
  const page = pageFrom(rows, limit, (row) => [row.occurredAt, `${row.sessionId} ${row.eventId}`], asOf);
  // A price that was added elsewhere a moment ago counts here.
  forgetPrices();
  const all = await rerateAll(db, page.data, idsOf);
  const behind = new Set<Rerated>();
  if (!isDry) {
    // First: one that dies half way has changed something too.
    await recordAudit(db, auditOf(c, "usage.re_rate", `${input.start}/${input.end}`, tenant ?? null));
    for (const one of all.filter(isChanged)) {
      const corrected = await correct(c, one);
      if (!corrected.ok && corrected.error.code !== "precondition_failed") return corrected;
      if (!corrected.ok) behind.add(one);
    }
  }
  const since = await eventsSince(db, scope);
  return ok({
    dry_run: isDry,
    ...diffOf(all.filter((one) => !behind.has(one))),
    behind: behind.size,
    events_since: formatInstantOrNull(since),
    has_more: page.has_more,
    next_cursor: page.next_cursor,
    as_of: asOf,
  });
}

export const registerReRate = (app: App) =>
  app.openapi(
    operatorRoute("prices:write", {
      method: "post",
      path: "/v1/re-rates",
      summary: "Rate calls again",
      description:
        "By the prices that are known now of the moments at which the calls were made. Calls are never changed: what differs gets a " +
        "correction that takes back what held and posts what holds. At most 500 calls a request, the oldest first: go on with " +
        "`next_cursor`. Rating again what was rated changes nothing.",
      tags: ["Prices"],
      request: { body: jsonBody(reRateSchema) },
      responses: { 200: json(reRatingSchema, "The difference") },
    }),
    async (c) => reply(c, await reRate(c, connect(c.env.CATALOG), c.req.valid("json"))),
  );

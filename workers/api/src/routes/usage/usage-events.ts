/** `GET /v1/usage-events` across sessions, and why one of them costs what it costs. */
import type { Context } from "hono";
import * as z from "zod";
import { formatInstantOrNull } from "@sessionplane/shared/fields";
import { sessionIdSchema, tenantIdSchema } from "@sessionplane/shared/ids";
import { pageOf } from "@sessionplane/shared/page";
import { NOT_FOUND, type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { reachSchema } from "@sessionplane/shared/report";
import { explainedUsageSchema, purposeSchema, usageEventSchema } from "@sessionplane/shared/usage-event";
import { type CatalogDb, connect } from "../../catalog/db.ts";
import { catalogAsOf } from "../../catalog/sessions.ts";
import { eventsSince } from "../../catalog/usage-archives.ts";
import { type UsageFilter, explainEvents, listUsageEvents, positionOf } from "../../catalog/usage-events.ts";
import type { AppEnv } from "../../env.ts";
import { callOwned } from "../../http/owned-session.ts";
import { principalOf } from "../../http/authenticate.ts";
import { boundsOf, flagSchema, instantBounds, pageFrom, pageQuery } from "../../http/list-query.ts";
import { type App, eitherRoute, json, reply } from "../../http/routes.ts";
import { streamText } from "../../http/stream-text.ts";
import type { TenantScope } from "../../catalog/scope.ts";
import { scopeOf } from "../../http/tenant-scope.ts";

const query = z.strictObject({
  ...pageQuery,
  ...instantBounds("occurred_at"),
  session_id: sessionIdSchema.optional(),
  tenant_id: tenantIdSchema.optional(),
  user_id: z.string().max(128).optional(),
  provider: z.string().max(100).optional(),
  model: z.string().max(200).optional(),
  purpose: purposeSchema.optional(),
  unpriced: flagSchema,
  inconsistent: flagSchema,
});

const tenantEventSchema = usageEventSchema.extend({ tenant_id: z.string() }).meta({ id: "TenantUsageEvent" });

const NDJSON = "application/x-ndjson";
const STREAMED_PAGE = 500;

const ownerOfEvent = z.strictObject({
  session_id: sessionIdSchema.optional().meta({ description: "Whose event it is: an event's id is its session's alone" }),
  tenant_id: tenantIdSchema.optional(),
});

export const registerListAllUsageEvents = (app: App) =>
  app.openapi(
    eitherRoute("usage:read", "reports:read", {
      method: "get",
      path: "/v1/usage-events",
      summary: "List usage events",
      description:
        "Across sessions, by the time of the call; seconds behind the sessions, as `as_of` says. `Accept: application/x-ndjson` streams " +
        "all of them, whatever the limit. Events that were archived are not among them.",
      tags: ["Usage"],
      request: { query },
      responses: {
        200: json(pageOf(tenantEventSchema).extend(reachSchema.shape).meta({ id: "UsageEventPage" }), "A page, newest first"),
      },
    }),
    async (c) => {
      const {
        tenant_id: tenantId,
        limit,
        order,
        cursor,
        unpriced,
        inconsistent,
        session_id,
        user_id,
        provider,
        model,
        purpose,
        ...rest
      } = c.req.valid("query");
      const scope = scopeOf(principalOf(c), tenantId);
      if (!scope.ok) return reply(c, scope);
      const db = connect(c.env.CATALOG);
      const filter: UsageFilter = {
        ...{ limit, order, cursor, unpriced, inconsistent, provider, model, purpose },
        ...{ sessionId: session_id, userId: user_id, occurredAt: boundsOf(rest, "occurred_at") },
      };
      if ((c.req.header("Accept") ?? "").includes(NDJSON)) return streamAll(c, db, scope.value, filter);
      const [rows, asOf, since] = await Promise.all([
        listUsageEvents(db, scope.value, filter),
        catalogAsOf(db, scope.value),
        eventsSince(db, scope.value),
      ]);
      const reach = { events_since: formatInstantOrNull(since) };
      return reply(c, ok({ ...pageFrom(rows, limit, positionOf, asOf), ...reach }), 200, { Vary: "Accept" });
    },
  );

/** A page in memory at a time. */
async function* allEvents(db: CatalogDb, scope: TenantScope, filter: UsageFilter): AsyncGenerator<string> {
  let { cursor } = filter;
  for (let more = true; more;) {
    const rows = await listUsageEvents(db, scope, { ...filter, cursor, limit: STREAMED_PAGE });
    more = rows.length > STREAMED_PAGE;
    const page = rows.slice(0, STREAMED_PAGE);
    const last = page.at(-1);
    if (last !== undefined) cursor = positionOf(last);
    yield page.map((event) => `${JSON.stringify(event)}\n`).join("");
  }
}

async function streamAll(c: Context<AppEnv>, db: CatalogDb, scope: TenantScope, filter: UsageFilter): Promise<Response> {
  const events = await streamText(allEvents(db, scope, filter), "usage_events_broken_off");
  return c.body(events, 200, { "Content-Type": NDJSON, Vary: "Accept" });
}

export const registerGetUsageEvent = (app: App) =>
  app.openapi(
    eitherRoute("usage:read", "reports:read", {
      method: "get",
      path: "/v1/usage-events/{event_id}",
      summary: "Get a usage event",
      description: "As it was reported and priced; seconds behind its session. Corrections are events of their own.",
      tags: ["Usage"],
      request: { params: z.object({ event_id: z.string().min(1).max(128) }), query: ownerOfEvent },
      responses: { 200: json(tenantEventSchema, "The event") },
    }),
    async (c) => {
      const { session_id: sessionId, tenant_id: tenantId } = c.req.valid("query");
      const scope = scopeOf(principalOf(c), tenantId);
      if (!scope.ok) return reply(c, scope);
      const { event_id: eventId } = c.req.valid("param");
      const filter = { limit: 1, order: "asc", occurredAt: {}, eventId, sessionId } as const;
      return reply(c, onlyOne(await listUsageEvents(connect(c.env.CATALOG), scope.value, filter)));
    },
  );

const AMBIGUOUS = problem("ambiguous_event", "Several sessions have an event with this id: name one with session_id.");

function onlyOne<T>([first, second]: readonly T[]): Result<T, Problem> {
  if (first === undefined) return err(NOT_FOUND);
  return second === undefined ? ok(first) : err(AMBIGUOUS);
}

export const registerExplainUsageEvent = (app: App) =>
  app.openapi(
    eitherRoute("usage:read", "reports:read", {
      method: "get",
      path: "/v1/usage-events/{event_id}/explain",
      summary: "Explain a usage event's cost",
      description:
        "Every line: class, quantity, the price with its source and moment, the exact product, the rounding. With `session_id` the " +
        "session itself is asked, and nothing lags.",
      tags: ["Usage"],
      request: { params: z.object({ event_id: z.string().min(1).max(128) }), query: ownerOfEvent },
      responses: { 200: json(explainedUsageSchema, "The lines, which add up to the cost") },
    }),
    async (c) => {
      const id = c.req.valid("param").event_id;
      const { session_id: sessionId, tenant_id: tenantId } = c.req.valid("query");
      if (sessionId !== undefined) {
        const explained = await callOwned(c, tenantId, sessionId, (session) => session.explainUsageEvent(id));
        return reply(c, explained.ok ? ok(explained.value.value) : explained);
      }
      const scope = scopeOf(principalOf(c), tenantId);
      if (!scope.ok) return reply(c, scope);
      return reply(c, onlyOne(await explainEvents(connect(c.env.CATALOG), scope.value, id)));
    },
  );

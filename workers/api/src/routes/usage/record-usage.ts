/** `POST /v1/sessions/{session_id}/usage`: priced here, kept in the session's object. */
import * as z from "zod";
import { problem } from "@sessionplane/shared/problem";
import { err, ok } from "@sessionplane/shared/result";
import { MAX_EVENTS_PER_REPORT, newUsageEventSchema, recordedUsageSchema } from "@sessionplane/shared/usage-event";
import { priceEvents } from "../../billing/price-book.ts";
import { connect } from "../../catalog/db.ts";
import { tenantOf } from "../../http/authenticate.ts";
import { idempotencyOf } from "../../http/idempotency.ts";
import { sessionParams } from "../../http/params.ts";
import { timed } from "../../http/request.ts";
import { type App, json, jsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";

const recordSchema = z
  .strictObject({
    event: newUsageEventSchema.optional(),
    events: z.array(newUsageEventSchema).min(1).max(MAX_EVENTS_PER_REPORT).optional(),
  })
  .refine((body) => (body.event === undefined) !== (body.events === undefined), { message: "give event or events, and not both" })
  .meta({ id: "RecordUsage" });

const recordedSchema = z.object({ results: z.array(recordedUsageSchema) }).meta({ id: "RecordedUsageResults" });

export const registerRecordUsage = (app: App) =>
  app.openapi(
    tenantRoute("usage:write", {
      method: "post",
      path: "/v1/sessions/{session_id}/usage",
      summary: "Record usage",
      description: "One event a model call. An event's id is its idempotency key within the session; each event is answered for.",
      tags: ["Usage"],
      request: { params: sessionParams, body: jsonBody(recordSchema) },
      responses: { 201: json(recordedSchema, "At least one was created"), 200: json(recordedSchema, "None was new") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const { event, events = event === undefined ? [] : [event] } = c.req.valid("json");
      const pointerOf = (index: number) => (event === undefined ? `/events/${index}` : "/event");
      const priced = await timed(c.get("timings"), "price", () =>
        priceEvents(connect(c.env.CATALOG), tenant.tenantId, tenant.settings, events, pointerOf),
      );
      if (!priced.ok) return reply(c, priced);
      const idempotency = await idempotencyOf(c);
      const result = await timed(c.get("timings"), "session", () =>
        callSession(c.env, tenant, c.req.valid("param").session_id, (session) =>
          session.recordUsage({ events: priced.value, ...idempotency }),
        ),
      );
      if (!result.ok) return reply(c, result);
      const { value: results, replayed } = result.value;
      if (event !== undefined && results[0]?.status === "conflict") return reply(c, err(conflictOf(results[0].id)));
      const created = results.some((one) => one.status === "created");
      return replyWritten(c, ok({ value: { results }, replayed }), created ? 201 : 200);
    },
  );

const conflictOf = (id: string) =>
  problem("usage_conflict", `The session has another usage event with the id ${id}.`, {
    errors: [{ pointer: "/event/id", code: "usage_conflict", message: "another event has it" }],
  });

/** `GET /v1/sessions/{session_id}/usage`: the session's totals, exact. */
import * as z from "zod";
import { sessionUsageSchema } from "@sessionplane/shared/session";
import { tenantOf } from "../../http/authenticate.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";

const readingSchema = z.object({ usage: sessionUsageSchema, as_of: z.iso.datetime() }).meta({ id: "UsageReading" });

export const registerReadUsage = (app: App) =>
  app.openapi(
    tenantRoute("usage:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/usage",
      summary: "Read a session's usage",
      tags: ["Usage"],
      request: { params: sessionParams },
      responses: { 200: json(readingSchema, "Totals") },
    }),
    async (c) =>
      reply(c, await callSession(c.env, tenantOf(c), c.req.valid("param").session_id, (session) => session.readUsage())),
  );

/** `GET /v1/sessions/{session_id}`: exact, from the session's object. */
import { sessionSchema } from "@sessionplane/shared/session";
import { tenantOf } from "../../http/authenticate.ts";
import { etagOf } from "../../http/etag.ts";
import { sessionParams } from "../../http/params.ts";
import { rulesOf } from "../../http/principal.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";

export const registerGetSession = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}",
      summary: "Get a session",
      tags: ["Sessions"],
      request: { params: sessionParams },
      responses: { 200: json(sessionSchema, "The session, exact") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const result = await callSession(c.env, tenant, c.req.valid("param").session_id, (session) =>
        session.describe(rulesOf(tenant)),
      );
      return reply(c, result, 200, result.ok ? etagOf(result.value) : {});
    },
  );

/** `PATCH /v1/sessions/{session_id}`. */
import { patchSessionSchema, sessionSchema } from "@sessionplane/shared/session";
import { tenantOf } from "../../http/authenticate.ts";
import { etagOf, ifMatch } from "../../http/etag.ts";
import { idempotencyOrRequest } from "../../http/idempotency.ts";
import { sessionParams } from "../../http/params.ts";
import { rulesOf } from "../../http/principal.ts";
import { type App, json, jsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";

export const registerPatchSession = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "patch",
      path: "/v1/sessions/{session_id}",
      summary: "Change a session's settings",
      description: "Merges. `If-Match` names the revision to change.",
      tags: ["Sessions"],
      request: { params: sessionParams, body: jsonBody(patchSessionSchema) },
      responses: { 200: json(sessionSchema, "The session") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const expected = ifMatch(c);
      if (!expected.ok) return reply(c, expected);
      const idempotency = await idempotencyOrRequest(c);
      const patch = c.req.valid("json");
      const result = await callSession(c.env, tenant, c.req.valid("param").session_id, (session) =>
        session.patch({
          patch,
          rules: rulesOf(tenant),
          idempotency,
          ...(expected.value === undefined ? {} : { if_match: expected.value }),
        }),
      );
      return replyWritten(c, result, 200, result.ok ? etagOf(result.value.value) : {});
    },
  );

/** `POST /v1/sessions/{session_id}/end`: it takes no more messages; nothing is deleted. */
import * as z from "zod";
import { sessionSchema } from "@sessionplane/shared/session";
import { tenantOf } from "../../http/authenticate.ts";
import { etagOf } from "../../http/etag.ts";
import { idempotencyOrRequest } from "../../http/idempotency.ts";
import { sessionParams } from "../../http/params.ts";
import { rulesOf } from "../../http/principal.ts";
import { type App, json, optionalJsonBody, tenantRoute } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";

const endSessionSchema = z.strictObject({ reason: z.string().min(1).max(200).optional() }).meta({ id: "EndSession" });

export const registerEndSession = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "post",
      path: "/v1/sessions/{session_id}/end",
      summary: "End a session",
      tags: ["Sessions"],
      request: { params: sessionParams, body: optionalJsonBody(endSessionSchema) },
      responses: { 200: json(sessionSchema, "The session, ended. Ending twice keeps the first reason") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const idempotency = await idempotencyOrRequest(c);
      const { reason = "ended" } = c.req.valid("json");
      const result = await callSession(c.env, tenant, c.req.valid("param").session_id, (session) =>
        session.end({ reason, rules: rulesOf(tenant), idempotency }),
      );
      return replyWritten(c, result, 200, result.ok ? etagOf(result.value.value) : {});
    },
  );

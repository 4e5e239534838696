/** `PATCH /v1/sessions/{session_id}/messages/{message_id}`: what came of one tool call. */
import { sourceSchema, toolPatchSchema } from "@sessionplane/shared/message";
import { tenantOf } from "../../http/authenticate.ts";
import { ifMatchMessage, versionTag } from "../../http/etag.ts";
import { idempotencyOrRequest } from "../../http/idempotency.ts";
import { messageParams } from "../../http/params.ts";
import { rulesOf, sourceOf } from "../../http/principal.ts";
import { type App, json, jsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";
import { writtenMessageSchema } from "./written-message.ts";

const patchSchema = toolPatchSchema.safeExtend({ source: sourceSchema.optional() }).meta({ id: "PatchMessage" });

export const registerPatchMessage = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "patch",
      path: "/v1/sessions/{session_id}/messages/{message_id}",
      summary: "Merge a tool's result",
      description:
        "Merges into the part with this `toolCallId`; the rest of the message stays, so that results which arrive at once " +
        "are all there. A client may answer a call that the server opened, once.",
      tags: ["Messages"],
      request: { params: messageParams, body: jsonBody(patchSchema) },
      responses: { 200: json(writtenMessageSchema, "The message with the result") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const { session_id: sessionId, message_id: id } = c.req.valid("param");
      const { source, ...patch } = c.req.valid("json");
      const expected = ifMatchMessage(c);
      if (!expected.ok) return reply(c, expected);
      const input = {
        id,
        patch,
        source: sourceOf(tenant, source),
        rules: rulesOf(tenant),
        ...expected.value,
        idempotency: await idempotencyOrRequest(c),
      };
      const result = await callSession(c.env, tenant, sessionId, (session) => session.patchMessage(input));
      return replyWritten(c, result, 200, result.ok ? versionTag(result.value.value) : {});
    },
  );

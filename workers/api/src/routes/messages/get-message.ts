/** `GET /v1/sessions/{session_id}/messages/{message_id}`. */
import * as z from "zod";
import { messageMetaSchema, messageSchema } from "@sessionplane/shared/message";
import { tenantOf } from "../../http/authenticate.ts";
import { matchesNone, versionTag } from "../../http/etag.ts";
import { messageParams } from "../../http/params.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";
import { attachmentsSchema } from "./read-history.ts";

const storedMessageSchema = z.object({ message: messageSchema, meta: messageMetaSchema }).meta({ id: "StoredMessage" });

export const registerGetMessage = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/messages/{message_id}",
      summary: "Get a message",
      description: "The original, whether an overlay stands for it or not.",
      tags: ["Messages"],
      request: { params: messageParams, query: z.strictObject({ attachments: attachmentsSchema }) },
      responses: { 200: json(storedMessageSchema, "The message and what is known of it") },
    }),
    async (c) => {
      const { session_id: sessionId, message_id: messageId } = c.req.valid("param");
      const result = await callSession(c.env, tenantOf(c), sessionId, (session) =>
        session.getMessage({ id: messageId, attachments: c.req.valid("query").attachments }),
      );
      if (!result.ok) return reply(c, result);
      const { json: stored, meta } = result.value;
      const tag = versionTag(result.value);
      if (matchesNone(c.req.header("If-None-Match"), tag.ETag)) return c.body(null, 304, tag);
      return c.body(`{"message":${stored},"meta":${JSON.stringify(meta)}}`, 200, {
        "Content-Type": "application/json",
        ...tag,
      });
    },
  );

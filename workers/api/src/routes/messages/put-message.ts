/** `PUT /v1/sessions/{session_id}/messages/{message_id}`: other content for a message, or a new one with this id. */
import * as z from "zod";
import { newMessageSchema } from "@sessionplane/shared/message";
import { fieldProblem } from "@sessionplane/shared/problem";
import { err } from "@sessionplane/shared/result";
import { tenantOf } from "../../http/authenticate.ts";
import { ifMatchMessage, versionTag } from "../../http/etag.ts";
import { idempotencyOrRequest } from "../../http/idempotency.ts";
import { messageParams } from "../../http/params.ts";
import { rulesOf, sourceOf } from "../../http/principal.ts";
import { type App, json, jsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";
import { place, pointAtSingle, writtenMessageSchema } from "./written-message.ts";

const putSchema = z.strictObject({ message: newMessageSchema, ...place }).meta({ id: "PutMessage" });

export const registerPutMessage = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "put",
      path: "/v1/sessions/{session_id}/messages/{message_id}",
      summary: "Write a message",
      description:
        "Replaces the content of a message that is there, or appends one. `parent_id` is for a new one alone: a message " +
        "never moves. `If-Match: *` only updates, `If-None-Match: *` only appends, `If-Match` with an ETag only updates that version.",
      tags: ["Messages"],
      request: { params: messageParams, body: jsonBody(putSchema) },
      responses: { 200: json(writtenMessageSchema, "Updated, or unchanged"), 201: json(writtenMessageSchema, "Appended") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const { session_id: sessionId, message_id: id } = c.req.valid("param");
      const { message, parent_id: parentId, source } = c.req.valid("json");
      if (message.id !== undefined && message.id !== id)
        return reply(c, err(fieldProblem("invalid", "/message/id", "is not the id in the path")));
      const expected = ifMatchMessage(c);
      if (!expected.ok) return reply(c, expected);
      const input = {
        message: { ...message, id },
        source: sourceOf(tenant, source),
        rules: rulesOf(tenant),
        ...(parentId === undefined ? {} : { parent_id: parentId }),
        ...expected.value,
        // Without a version a repetition finds what it wrote; with one it would be refused.
        ...(typeof expected.value.if_match === "number" || expected.value.if_match === "none"
          ? { idempotency: await idempotencyOrRequest(c) }
          : {}),
      };
      const result = await callSession(c.env, tenant, sessionId, (session) => session.putMessage(input));
      if (!result.ok) return reply(c, pointAtSingle(result));
      const written = result.value.value;
      return replyWritten(c, result, written.inserted ? 201 : 200, versionTag(written));
    },
  );

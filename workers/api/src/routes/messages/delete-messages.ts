/** Deleting one message, some by their ids, or all of a session's. */
import type { Context } from "hono";
import * as z from "zod";
import { MAX_MESSAGES_PER_APPEND } from "@sessionplane/shared/message";
import { NOT_FOUND, type Problem } from "@sessionplane/shared/problem";
import type { Result } from "@sessionplane/shared/result";
import type { DeletedMessages, Written } from "@sessionplane/shared/rpc/session-rpc";
import type { AppEnv } from "../../env.ts";
import { tenantOf } from "../../http/authenticate.ts";
import { idempotencyOrRequest } from "../../http/idempotency.ts";
import { messageParams, sessionParams } from "../../http/params.ts";
import { rulesOf, sourceOf } from "../../http/principal.ts";
import { problemReply } from "../../http/problems.ts";
import { type App, json, jsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";
import { afterWriteFields } from "./written-message.ts";

const deleteSchema = z
  .strictObject({ ids: z.array(z.string().min(1).max(128)).min(1).max(MAX_MESSAGES_PER_APPEND) })
  .meta({ id: "DeleteMessages" });

const deletedSchema = z
  .object({ results: z.array(z.object({ id: z.string(), deleted: z.boolean() })), ...afterWriteFields })
  .meta({ id: "DeletedMessages" });

async function remove(
  c: Context<AppEnv>,
  sessionId: string,
  ids: readonly string[],
): Promise<Result<Written<DeletedMessages>, Problem>> {
  const tenant = tenantOf(c);
  const input = { ids, source: sourceOf(tenant), rules: rulesOf(tenant), idempotency: await idempotencyOrRequest(c) };
  return callSession(c.env, tenant, sessionId, (session) => session.deleteMessages(input));
}

export const registerDeleteMessage = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "delete",
      path: "/v1/sessions/{session_id}/messages/{message_id}",
      summary: "Delete a message",
      description: "What hung below it hangs below the nearest message that is left. Summaries that stand for it go with it.",
      tags: ["Messages"],
      request: { params: messageParams },
      responses: { 204: { description: "Deleted" } },
    }),
    async (c) => {
      const { session_id: sessionId, message_id: id } = c.req.valid("param");
      const result = await remove(c, sessionId, [id]);
      if (!result.ok) return problemReply(c, result.error);
      return result.value.value.results[0]?.deleted === true ? c.body(null, 204) : problemReply(c, NOT_FOUND);
    },
  );

export const registerDeleteMessages = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "post",
      path: "/v1/sessions/{session_id}/messages/delete",
      summary: "Delete messages by their ids",
      description: "All of them in one transaction; each is answered for.",
      tags: ["Messages"],
      request: { params: sessionParams, body: jsonBody(deleteSchema) },
      responses: { 200: json(deletedSchema, "Which were there and are gone") },
    }),
    async (c) => replyWritten(c, await remove(c, c.req.valid("param").session_id, c.req.valid("json").ids), 200),
  );

export const registerClearMessages = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "delete",
      path: "/v1/sessions/{session_id}/messages",
      summary: "Delete every message",
      description: "Messages and summaries, for good. Settings, usage and cost stay.",
      tags: ["Messages"],
      request: { params: sessionParams },
      responses: { 204: { description: "Deleted" } },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const input = { source: sourceOf(tenant), idempotency: await idempotencyOrRequest(c) };
      const result = await callSession(c.env, tenant, c.req.valid("param").session_id, (session) => session.clearMessages(input));
      return result.ok ? c.body(null, 204) : reply(c, result);
    },
  );

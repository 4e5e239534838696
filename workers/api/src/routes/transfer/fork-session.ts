/** `POST /v1/sessions/{session_id}/fork`: the path to a message as a session of its own. */
import * as z from "zod";
import { nameSchema } from "@sessionplane/shared/fields";
import { ok } from "@sessionplane/shared/result";
import { sessionSchema } from "@sessionplane/shared/session";
import { tenantOf } from "../../http/authenticate.ts";
import { etagOf } from "../../http/etag.ts";
import { keepReply, resourceId } from "../../http/idempotency.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, json, jsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";
import { readLines } from "../../transfer/read-lines.ts";
import { receive } from "../../transfer/receive.ts";
import { continuationOf } from "../../transfer/settings.ts";

const forkSchema = z
  .strictObject({ at_message_id: z.string().min(1).max(128), name: nameSchema.optional() })
  .meta({ id: "ForkSession" });

export const registerForkSession = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "post",
      path: "/v1/sessions/{session_id}/fork",
      summary: "Fork a session",
      description:
        "Copies the path to a message, with the summaries that lie on it, into a new session. Messages keep their ids: " +
        "an id is a session's own. Usage is not copied.",
      tags: ["Transfer"],
      middleware: keepReply(),
      request: { params: sessionParams, body: jsonBody(forkSchema) },
      responses: { 201: json(sessionSchema, "The new session") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const parentId = c.req.valid("param").session_id;
      const { at_message_id: to, name } = c.req.valid("json");
      const source = await callSession(c.env, tenant, parentId, (session) => session.exportSession({ to }));
      if (!source.ok) return reply(c, source);
      const settings = continuationOf(parentId, name);
      const made = await receive(c.env, tenant, resourceId(c, "session"), readLines(source.value), settings);
      if (!made.ok) return reply(c, made);
      return reply(c, ok(made.value.session), 201, etagOf(made.value.session));
    },
  );

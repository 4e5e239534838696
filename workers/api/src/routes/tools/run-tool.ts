/** `POST /v1/sessions/{session_id}/tools/{name}`: a model's call of a tool. */
import * as z from "zod";
import { runToolSchema, toolAnswerSchema } from "@sessionplane/shared/block";
import { tenantOf } from "../../http/authenticate.ts";
import { idempotencyOrRequest } from "../../http/idempotency.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, json, jsonBody, tenantRoute } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";
import { searchUsersSessions } from "./search-users-sessions.ts";

export const registerRunTool = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write-as-server", {
      method: "post",
      path: "/v1/sessions/{session_id}/tools/{name}",
      summary: "Run a tool for a model",
      description:
        "`arguments` as the model sent them. What it can't have is an answer too: `is_error` is true and `output` says why, " +
        "so that its call never stays open. `session_search` looks through the sessions of this session's user.",
      tags: ["Context"],
      request: { params: sessionParams.extend({ name: z.string().min(1).max(64) }), body: jsonBody(runToolSchema) },
      responses: { 200: json(toolAnswerSchema, "The answer") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const { session_id: id, name } = c.req.valid("param");
      const { arguments: sent } = c.req.valid("json");
      const idempotency = await idempotencyOrRequest(c);
      const run = () => callSession(c.env, tenant, id, (session) => session.runTool({ name, arguments: sent, idempotency }));
      return replyWritten(
        c,
        name === "session_search" ? await searchUsersSessions(c.env, tenant, id, sent, run) : await run(),
        200,
      );
    },
  );

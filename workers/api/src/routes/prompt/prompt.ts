/** `GET /v1/sessions/{session_id}/prompt` and its refresh. */
import { promptSchema } from "@sessionplane/shared/block";
import { tenantOf } from "../../http/authenticate.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";

export const registerReadPrompt = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/prompt",
      summary: "Read the system prompt",
      description:
        "Rendered of the blocks when it is first asked for, and the same characters from then on: until it is refreshed, " +
        "or a compaction or clearing ends the prefix that a provider has cached anyway.",
      tags: ["Context"],
      request: { params: sessionParams },
      responses: { 200: json(promptSchema, "The prompt") },
    }),
    async (c) =>
      reply(c, await callSession(c.env, tenantOf(c), c.req.valid("param").session_id, (session) => session.readPrompt())),
  );

export const registerRefreshPrompt = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "post",
      path: "/v1/sessions/{session_id}/prompt/refresh",
      summary: "Refresh the system prompt",
      description: "Renders it of the blocks as they are now. Best between turns: a provider's cache of the prefix ends with it.",
      tags: ["Context"],
      request: { params: sessionParams },
      responses: { 200: json(promptSchema, "The prompt") },
    }),
    async (c) =>
      reply(c, await callSession(c.env, tenantOf(c), c.req.valid("param").session_id, (session) => session.refreshPrompt())),
  );

/** `GET /v1/sessions/{session_id}/tools`, and which skills are loaded. */
import { loadedSkillSchema, toolSchema } from "@sessionplane/shared/block";
import { pageOf } from "@sessionplane/shared/page";
import { ok } from "@sessionplane/shared/result";
import { tenantOf } from "../../http/authenticate.ts";
import { wholeList } from "../../http/list-query.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";

export const registerListTools = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/tools",
      summary: "List the tools for a model",
      description:
        "What a model can do with the session's context, as JSON Schema. They change with the blocks alone, so that a " +
        "provider's cache of them holds; `recall` comes with the first summary.",
      tags: ["Context"],
      request: { params: sessionParams },
      responses: { 200: json(pageOf(toolSchema).meta({ id: "Tools" }), "The tools") },
    }),
    async (c) => {
      const tools = await callSession(c.env, tenantOf(c), c.req.valid("param").session_id, (session) => session.listTools());
      return reply(c, tools.ok ? ok(wholeList(tools.value)) : tools);
    },
  );

export const registerListLoadedSkills = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/skills",
      summary: "List the loaded skills",
      description: "What models have loaded into the session and not unloaded, with what each costs in tokens.",
      tags: ["Context"],
      request: { params: sessionParams },
      responses: { 200: json(pageOf(loadedSkillSchema).meta({ id: "LoadedSkills" }), "The skills") },
    }),
    async (c) => {
      const id = c.req.valid("param").session_id;
      const skills = await callSession(c.env, tenantOf(c), id, (session) => session.listLoadedSkills());
      return reply(c, skills.ok ? ok(wholeList(skills.value)) : skills);
    },
  );

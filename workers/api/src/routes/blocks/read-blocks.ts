/** `GET /v1/sessions/{session_id}/blocks` and one of them. */
import { blockSchema } from "@sessionplane/shared/block";
import { pageOf } from "@sessionplane/shared/page";
import { ok } from "@sessionplane/shared/result";
import { tenantOf } from "../../http/authenticate.ts";
import { etagOf } from "../../http/etag.ts";
import { wholeList } from "../../http/list-query.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";
import { blockParams } from "./block-params.ts";

export const registerListBlocks = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/blocks",
      summary: "List context blocks",
      description: "All of them, in the order in which they were made: that of the prompt.",
      tags: ["Context"],
      request: { params: sessionParams },
      responses: { 200: json(pageOf(blockSchema).meta({ id: "BlockPage" }), "The blocks") },
    }),
    async (c) => {
      const blocks = await callSession(c.env, tenantOf(c), c.req.valid("param").session_id, (session) => session.listBlocks());
      return reply(c, blocks.ok ? ok(wholeList(blocks.value)) : blocks);
    },
  );

export const registerGetBlock = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/blocks/{label}",
      summary: "Get a context block",
      description: "As it is now, whatever the frozen prompt shows.",
      tags: ["Context"],
      request: { params: blockParams },
      responses: { 200: json(blockSchema, "The block") },
    }),
    async (c) => {
      const { session_id: id, label } = c.req.valid("param");
      const block = await callSession(c.env, tenantOf(c), id, (session) => session.getBlock({ label }));
      return reply(c, block, 200, block.ok ? etagOf(block.value) : {});
    },
  );

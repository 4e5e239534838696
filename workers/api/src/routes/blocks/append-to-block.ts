/** `POST /v1/sessions/{session_id}/blocks/{label}/append`. */
import { appendToBlockSchema, blockSchema } from "@sessionplane/shared/block";
import { tenantOf } from "../../http/authenticate.ts";
import { etagOf } from "../../http/etag.ts";
import { type App, json, jsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";
import { blockParams, writeOf } from "./block-params.ts";

export const registerAppendToBlock = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write-as-server", {
      method: "post",
      path: "/v1/sessions/{session_id}/blocks/{label}/append",
      summary: "Append to a context block",
      description: "On a line of its own below what is there. Two at once both stand.",
      tags: ["Context"],
      request: { params: blockParams, body: jsonBody(appendToBlockSchema) },
      responses: { 200: json(blockSchema, "The block") },
    }),
    async (c) => {
      const write = await writeOf(c);
      if (!write.ok) return reply(c, write);
      const { session_id: id, label } = c.req.valid("param");
      const input = { label, content: c.req.valid("json").content, ...write.value };
      const block = await callSession(c.env, tenantOf(c), id, (session) => session.appendToBlock(input));
      return replyWritten(c, block, 200, block.ok ? etagOf(block.value.value) : {});
    },
  );

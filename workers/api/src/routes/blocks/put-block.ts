/** `PUT /v1/sessions/{session_id}/blocks/{label}`: what a block is, and its text. */
import { blockSchema, putBlockSchema } from "@sessionplane/shared/block";
import { ok } from "@sessionplane/shared/result";
import { tenantOf } from "../../http/authenticate.ts";
import { etagOf } from "../../http/etag.ts";
import { type App, json, jsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";
import { blockParams, writeOf } from "./block-params.ts";

export const registerPutBlock = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write-as-server", {
      method: "put",
      path: "/v1/sessions/{session_id}/blocks/{label}",
      summary: "Define a context block",
      description:
        "Makes it, or replaces its definition. A `content` that is left out stays as it is, so that a definition can be " +
        "written at every start; whatever else is left out is as if it had never been said. A frozen prompt does not change. A " +
        "block stays of its kind.",
      tags: ["Context"],
      request: { params: blockParams, body: jsonBody(putBlockSchema) },
      responses: { 200: json(blockSchema, "It was there"), 201: json(blockSchema, "It was made") },
    }),
    async (c) => {
      const write = await writeOf(c);
      if (!write.ok) return reply(c, write);
      const { session_id: id, label } = c.req.valid("param");
      const input = { label, block: c.req.valid("json"), ...write.value };
      const put = await callSession(c.env, tenantOf(c), id, (session) => session.putBlock(input));
      if (!put.ok) return reply(c, put);
      const { value, made } = put.value.value;
      return replyWritten(c, ok({ value, replayed: put.value.replayed }), made ? 201 : 200, etagOf(value));
    },
  );

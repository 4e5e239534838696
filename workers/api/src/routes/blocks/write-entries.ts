/** `PUT` and `DELETE …/blocks/{label}/entries/{key}`. */
import { entrySchema, putEntrySchema } from "@sessionplane/shared/block";
import { ok } from "@sessionplane/shared/result";
import { tenantOf } from "../../http/authenticate.ts";
import { etagOf } from "../../http/etag.ts";
import { type App, json, jsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";
import { entryParams, writeOf } from "./block-params.ts";

export const registerPutEntry = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write-as-server", {
      method: "put",
      path: "/v1/sessions/{session_id}/blocks/{label}/entries/{key}",
      summary: "Write an entry of a block",
      description: "A document of a block of the session's own skills, or an entry of one that is searched.",
      tags: ["Context"],
      request: { params: entryParams, body: jsonBody(putEntrySchema) },
      responses: { 200: json(entrySchema, "It was there"), 201: json(entrySchema, "It was made") },
    }),
    async (c) => {
      const write = await writeOf(c);
      if (!write.ok) return reply(c, write);
      const { session_id: id, label, key } = c.req.valid("param");
      const input = { label, key, entry: c.req.valid("json"), ...write.value };
      const put = await callSession(c.env, tenantOf(c), id, (session) => session.putEntry(input));
      if (!put.ok) return reply(c, put);
      const { value, made } = put.value.value;
      return replyWritten(c, ok({ value, replayed: put.value.replayed }), made ? 201 : 200, etagOf(value));
    },
  );

export const registerDeleteEntry = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write-as-server", {
      method: "delete",
      path: "/v1/sessions/{session_id}/blocks/{label}/entries/{key}",
      summary: "Delete an entry of a block",
      tags: ["Context"],
      request: { params: entryParams },
      responses: { 204: { description: "Deleted" } },
    }),
    async (c) => {
      const write = await writeOf(c);
      if (!write.ok) return reply(c, write);
      const { session_id: id, label, key } = c.req.valid("param");
      const input = { label, key, ...write.value };
      const deleted = await callSession(c.env, tenantOf(c), id, (session) => session.deleteEntry(input));
      return deleted.ok ? c.body(null, 204) : reply(c, deleted);
    },
  );

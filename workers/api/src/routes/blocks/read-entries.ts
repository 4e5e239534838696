/** `GET …/blocks/{label}/entries` and one of them. */
import * as z from "zod";
import { entrySchema } from "@sessionplane/shared/block";
import { pageOf } from "@sessionplane/shared/page";
import { ok } from "@sessionplane/shared/result";
import { tenantOf } from "../../http/authenticate.ts";
import { cursorSchema, encodeCursor } from "../../http/cursor.ts";
import { etagOf } from "../../http/etag.ts";
import { limitSchema, now } from "../../http/list-query.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";
import { blockParams, entryParams } from "./block-params.ts";

const query = z.strictObject({ limit: limitSchema, cursor: cursorSchema(z.tuple([z.string()])).optional() });

export const registerListEntries = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/blocks/{label}/entries",
      summary: "List a block's entries",
      description: "By key.",
      tags: ["Context"],
      request: { params: blockParams, query },
      responses: { 200: json(pageOf(entrySchema).meta({ id: "BlockEntryPage" }), "A page") },
    }),
    async (c) => {
      const { session_id: id, label } = c.req.valid("param");
      const { limit, cursor } = c.req.valid("query");
      const after = cursor === undefined ? {} : { after: cursor[0] };
      const page = await callSession(c.env, tenantOf(c), id, (session) => session.listEntries({ label, limit, ...after }));
      if (!page.ok) return reply(c, page);
      const { items, has_more: hasMore } = page.value;
      const last = items.at(-1);
      const next = hasMore && last !== undefined ? encodeCursor([last.key]) : null;
      return reply(c, ok({ data: items, has_more: hasMore, next_cursor: next, as_of: now() }));
    },
  );

export const registerGetEntry = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/blocks/{label}/entries/{key}",
      summary: "Get an entry of a block",
      tags: ["Context"],
      request: { params: entryParams },
      responses: { 200: json(entrySchema, "The entry") },
    }),
    async (c) => {
      const { session_id: id, label, key } = c.req.valid("param");
      const entry = await callSession(c.env, tenantOf(c), id, (session) => session.getEntry({ label, key }));
      return reply(c, entry, 200, entry.ok ? etagOf(entry.value) : {});
    },
  );

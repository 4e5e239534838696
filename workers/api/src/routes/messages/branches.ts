/** The shape of a session's tree: what hangs below a message, the roots, the leaves, which leaf is active. */
import type { Context } from "hono";
import * as z from "zod";
import { leafSchema, messageMetaSchema, messageSchema } from "@sessionplane/shared/message";
import { pageOf } from "@sessionplane/shared/page";
import { ok } from "@sessionplane/shared/result";
import type { AppEnv } from "../../env.ts";
import { tenantOf } from "../../http/authenticate.ts";
import { encodeCursor } from "../../http/cursor.ts";
import { messageParams, sessionParams } from "../../http/params.ts";
import { type App, json, jsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { pageOfSeq, seqPageQuery, seqQueryOf } from "../../http/seq-page.ts";
import { callSession } from "../../session-client.ts";
import { afterWriteSchema } from "./written-message.ts";

const branchesSchema = z
  .object({
    data: z.array(messageSchema),
    meta: z.array(messageMetaSchema),
    active_id: z.string().nullable().meta({ description: "The one on the active path" }),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: "Branches" });

type Query = z.output<typeof seqPageQuery>;

async function children(c: Context<AppEnv>, sessionId: string, id: string | null, { limit, cursor }: Query): Promise<Response> {
  const result = await callSession(c.env, tenantOf(c), sessionId, (session) =>
    session.listBranches({ id, limit, ...(cursor === undefined ? {} : { after_seq: cursor }) }),
  );
  if (!result.ok) return reply(c, result);
  const { items, active_id, next_seq: next } = result.value;
  const rest = {
    meta: items.map((item) => item.meta),
    active_id,
    has_more: next !== null,
    next_cursor: next === null ? null : encodeCursor([next]),
  };
  const body = `{"data":[${items.map((item) => item.json).join(",")}],${JSON.stringify(rest).slice(1)}`;
  return c.body(body, 200, { "Content-Type": "application/json" });
}

export const registerListBranches = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/messages/{message_id}/branches",
      summary: "List what hangs below a message",
      description: "Its children, oldest first: the alternatives at this point of the conversation.",
      tags: ["Branches"],
      request: { params: messageParams, query: seqPageQuery },
      responses: { 200: json(branchesSchema, "A page") },
    }),
    (c) => {
      const { session_id: sessionId, message_id: id } = c.req.valid("param");
      return children(c, sessionId, id, c.req.valid("query"));
    },
  );

export const registerListRoots = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/roots",
      summary: "List the roots",
      description: "The messages that hang below none, oldest first.",
      tags: ["Branches"],
      request: { params: sessionParams, query: seqPageQuery },
      responses: { 200: json(branchesSchema, "A page") },
    }),
    (c) => children(c, c.req.valid("param").session_id, null, c.req.valid("query")),
  );

export const registerListLeaves = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/leaves",
      summary: "List the leaves",
      description: "The last message of every branch, newest first.",
      tags: ["Branches"],
      request: { params: sessionParams, query: seqPageQuery },
      responses: { 200: json(pageOf(leafSchema), "A page") },
    }),
    async (c) => {
      const query = seqQueryOf(c.req.valid("query"));
      const result = await callSession(c.env, tenantOf(c), c.req.valid("param").session_id, (session) =>
        session.listLeaves(query),
      );
      return reply(c, result.ok ? ok(pageOfSeq(result.value)) : result);
    },
  );

const chooseSchema = z.strictObject({ leaf_id: z.string().min(1).max(128) }).meta({ id: "ChooseLeaf" });

export const registerChooseLeaf = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "put",
      path: "/v1/sessions/{session_id}/leaf",
      summary: "Choose the active leaf",
      description: "Any message: reads end there, and the next append without `parent_id` hangs below it.",
      tags: ["Branches"],
      request: { params: sessionParams, body: jsonBody(chooseSchema) },
      responses: { 200: json(afterWriteSchema, "The session's leaf and its history's tokens") },
    }),
    async (c) => {
      const input = c.req.valid("json");
      const result = await callSession(c.env, tenantOf(c), c.req.valid("param").session_id, (session) =>
        session.chooseLeaf(input),
      );
      return reply(c, result);
    },
  );

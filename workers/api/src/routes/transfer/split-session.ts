/** `POST /v1/sessions/{session_id}/split`: a new session that begins with the summary of this one, which ends. */
import * as z from "zod";
import { nameSchema } from "@sessionplane/shared/fields";
import { newId } from "@sessionplane/shared/ids";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, ok } from "@sessionplane/shared/result";
import { sessionSchema } from "@sessionplane/shared/session";
import { tenantOf } from "../../http/authenticate.ts";
import { etagOf } from "../../http/etag.ts";
import { idempotencyOrRequest, keepReply, resourceId } from "../../http/idempotency.ts";
import { sessionParams } from "../../http/params.ts";
import { rulesOf } from "../../http/principal.ts";
import { type App, json, jsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";
import { readLines } from "../../transfer/read-lines.ts";
import { type ReadLine, receive } from "../../transfer/receive.ts";
import { continuationOf } from "../../transfer/settings.ts";

/** What stands above the summary, as Cloudflare's sessions have it in a session that goes on from another. */
const HEADING = "[Context from previous session]";
const END_REASON = "compaction";

const splitSchema = z
  .strictObject({ summary: z.string().min(1).max(1_000_000), name: nameSchema.optional() })
  .meta({ id: "SplitSession" });

const ENDED = problem("session_ended", "The session has ended: there is nothing to go on from.");

/** The lines of the session that ends, its settings and context, and one message. */
async function* continuation(context: ReadableStream<Uint8Array>, summary: string): AsyncGenerator<Result<ReadLine, Problem>> {
  let line = 0;
  for await (const read of readLines(context)) {
    yield read;
    if (read.ok) line = read.value.line;
  }
  const parts = [{ type: "text", text: `${HEADING}\n\n${summary}` }];
  const message = { id: newId("message"), role: "assistant" as const, parts };
  yield ok({ line: line + 1, bytes: summary.length, entry: { kind: "message", parent_id: null, message } });
}

export const registerSplitSession = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write-as-server", {
      method: "post",
      path: "/v1/sessions/{session_id}/split",
      summary: "Split a session",
      description:
        "The new session has this one's settings and blocks, and begins with the summary; this one ends with the reason `compaction`.",
      tags: ["Transfer"],
      middleware: keepReply(),
      request: { params: sessionParams, body: jsonBody(splitSchema) },
      responses: { 201: json(sessionSchema, "The new session") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const parentId = c.req.valid("param").session_id;
      const { summary, name } = c.req.valid("json");
      const rules = rulesOf(tenant);
      const from = await callSession(c.env, tenant, parentId, (session) => session.describe(rules));
      if (!from.ok) return reply(c, from);
      if (from.value.status === "ended") return reply(c, { ok: false, error: ENDED });
      const id = resourceId(c, "session");
      const context = await callSession(c.env, tenant, parentId, (session) => session.exportSession({ messages: false }));
      if (!context.ok) return reply(c, context);
      const made = await receive(c.env, tenant, id, continuation(context.value, summary), continuationOf(parentId, name));
      if (!made.ok) return reply(c, made);
      const idempotency = await idempotencyOrRequest(c);
      const ended = await callSession(c.env, tenant, parentId, (session) =>
        session.end({ reason: END_REASON, rules, idempotency }),
      );
      if (!ended.ok) return reply(c, ended);
      return reply(c, ok(made.value.session), 201, etagOf(made.value.session));
    },
  );

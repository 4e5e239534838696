/** `POST /v1/sessions/{session_id}/messages`: one message or many, which chain; one transaction. */
import * as z from "zod";
import { newId } from "@sessionplane/shared/ids";
import {
  MAX_MESSAGES_PER_APPEND,
  type Message,
  messageSchema,
  newMessageSchema,
  sourceSchema,
} from "@sessionplane/shared/message";
import type { FieldProblem, Problem } from "@sessionplane/shared/problem";
import { type Result, err } from "@sessionplane/shared/result";
import { tenantOf } from "../../http/authenticate.ts";
import { idempotencyOf } from "../../http/idempotency.ts";
import { sessionParams } from "../../http/params.ts";
import { hasScope, rulesOf } from "../../http/principal.ts";
import { type App, json, jsonBody, tenantRoute } from "../../http/routes.ts";
import { timed } from "../../http/request.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";

const place = {
  parent_id: z.string().min(1).max(128).nullable().optional().meta({ description: "Absent: the active leaf. Null: a new root" }),
  source: sourceSchema.optional(),
};
const appendSchema = z
  .strictObject({
    message: newMessageSchema.optional(),
    messages: z.array(newMessageSchema).min(1).max(MAX_MESSAGES_PER_APPEND).optional(),
    ...place,
  })
  .refine((body) => (body.message === undefined) !== (body.messages === undefined), {
    message: "give message or messages, and not both",
  })
  .meta({ id: "AppendMessages" });

const appendedSchema = z
  .object({
    results: z.array(z.object({ id: z.string(), inserted: z.boolean(), message: messageSchema })),
    leaf_id: z.string().nullable(),
    token_estimate: z.int(),
    compaction_job_id: z.string().nullable(),
  })
  .meta({ id: "AppendedMessages" });

const withId = (message: z.infer<typeof newMessageSchema>): Message => ({ ...message, id: message.id ?? newId("message") });

/** The object speaks of `/messages/0`; the caller of a single one wrote `/message`. */
const pointAtSingle = (error: FieldProblem): FieldProblem => ({
  ...error,
  pointer: error.pointer.replace(/^\/messages\/0\b/, "/message"),
});

function pointAt<T>(result: Result<T, Problem>, single: boolean): Result<T, Problem> {
  if (result.ok || !single || result.error.errors === undefined) return result;
  return err({ ...result.error, errors: result.error.errors.map(pointAtSingle) });
}

export const registerAppendMessages = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "post",
      path: "/v1/sessions/{session_id}/messages",
      summary: "Append messages",
      description: "Idempotent by message id: the first content stands, and the reply holds what is stored.",
      tags: ["Messages"],
      request: { params: sessionParams, body: jsonBody(appendSchema) },
      responses: { 201: json(appendedSchema, "Written"), 200: json(appendedSchema, "Every message was there already") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const { message, messages = message === undefined ? [] : [message], parent_id: parentId, source } = c.req.valid("json");
      const trusted = hasScope(tenant, "sessions:write-as-server") && source !== "client";
      const input = {
        messages: messages.map(withId),
        source: trusted ? ("server" as const) : ("client" as const),
        rules: rulesOf(tenant),
        ...(parentId === undefined ? {} : { parent_id: parentId }),
        ...(await idempotencyOf(c)),
      };
      const result = await timed(c.get("timings"), "session", () =>
        callSession(c.env, tenant, c.req.valid("param").session_id, (session) => session.append(input)),
      );
      const inserted = result.ok && result.value.value.results.some((one) => one.inserted);
      return replyWritten(c, pointAt(result, message !== undefined), inserted ? 201 : 200);
    },
  );

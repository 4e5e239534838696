/** `POST /v1/sessions/{session_id}/messages`: one message or many, which chain; one transaction. */
import * as z from "zod";
import { newId } from "@sessionplane/shared/ids";
import { MAX_MESSAGES_PER_APPEND, type Message, newMessageSchema } from "@sessionplane/shared/message";
import { tenantOf } from "../../http/authenticate.ts";
import { idempotencyOf } from "../../http/idempotency.ts";
import { sessionParams } from "../../http/params.ts";
import { rulesOf, sourceOf } from "../../http/principal.ts";
import { type App, json, jsonBody, tenantRoute } from "../../http/routes.ts";
import { timed } from "../../http/request.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";
import { afterWriteFields, place, pointAtSingle, storedMessage } from "./written-message.ts";

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
    results: z.array(z.object({ id: z.string(), inserted: z.boolean(), message: storedMessage })),
    ...afterWriteFields,
  })
  .meta({ id: "AppendedMessages" });

const withId = (message: z.infer<typeof newMessageSchema>): Message => ({ ...message, id: message.id ?? newId("message") });

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
      const input = {
        messages: messages.map(withId),
        source: sourceOf(tenant, source),
        rules: rulesOf(tenant),
        ...(parentId === undefined ? {} : { parent_id: parentId }),
        ...(await idempotencyOf(c)),
      };
      const result = await timed(c.get("timings"), "session", () =>
        callSession(c.env, tenant, c.req.valid("param").session_id, (session) => session.append(input)),
      );
      const inserted = result.ok && result.value.value.results.some((one) => one.inserted);
      return replyWritten(c, message === undefined ? result : pointAtSingle(result), inserted ? 201 : 200);
    },
  );

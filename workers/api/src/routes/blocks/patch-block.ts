/** `PATCH /v1/sessions/{session_id}/blocks/{label}`. */
import { blockSchema, patchBlockSchema } from "@sessionplane/shared/block";
import { tenantOf } from "../../http/authenticate.ts";
import { etagOf } from "../../http/etag.ts";
import { type App, json, jsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";
import { blockParams, writeOf } from "./block-params.ts";

export const registerPatchBlock = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write-as-server", {
      method: "patch",
      path: "/v1/sessions/{session_id}/blocks/{label}",
      summary: "Change a context block",
      description: "Merges; null deletes. `If-Match` names the revision to change: of two writers one is refused.",
      tags: ["Context"],
      request: { params: blockParams, body: jsonBody(patchBlockSchema) },
      responses: { 200: json(blockSchema, "The block") },
    }),
    async (c) => {
      const write = await writeOf(c);
      if (!write.ok) return reply(c, write);
      const { session_id: id, label } = c.req.valid("param");
      const input = { label, patch: c.req.valid("json"), ...write.value };
      const block = await callSession(c.env, tenantOf(c), id, (session) => session.patchBlock(input));
      return replyWritten(c, block, 200, block.ok ? etagOf(block.value.value) : {});
    },
  );

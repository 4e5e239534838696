/** One summary: looked at, taken back, written again. */
import { compactionJobSchema, rerunCompactionSchema } from "@sessionplane/shared/compaction-job";
import { overlayIdSchema } from "@sessionplane/shared/ids";
import { err } from "@sessionplane/shared/result";
import { overlaySchema } from "@sessionplane/shared/overlay";
import { missingScope, tenantOf } from "../../http/authenticate.ts";
import { idempotencyOrRequest } from "../../http/idempotency.ts";
import { sessionParams } from "../../http/params.ts";
import { rulesOf, sourceOf } from "../../http/principal.ts";
import { type App, json, optionalJsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";

const overlayParams = sessionParams.extend({ overlay_id: overlayIdSchema });

export const registerGetOverlay = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/compactions/{overlay_id}",
      summary: "Get an overlay",
      tags: ["Compactions"],
      request: { params: overlayParams },
      responses: { 200: json(overlaySchema, "The overlay") },
    }),
    async (c) => {
      const { session_id: id, overlay_id: overlay } = c.req.valid("param");
      return reply(c, await callSession(c.env, tenantOf(c), id, (session) => session.getOverlay(overlay)));
    },
  );

export const registerDeleteOverlay = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "delete",
      path: "/v1/sessions/{session_id}/compactions/{overlay_id}",
      summary: "Revert a compaction",
      description:
        "What it stood for shows again: the messages, or the summaries that it had gone on from. When that is above the " +
        "threshold, the next append compacts it again: set `automatic` to false first to keep it.",
      tags: ["Compactions"],
      request: { params: overlayParams },
      responses: { 204: { description: "Reverted" } },
    }),
    async (c) => {
      const { session_id: id, overlay_id: overlay } = c.req.valid("param");
      const input = { overlay_id: overlay, idempotency: await idempotencyOrRequest(c) };
      const deleted = await callSession(c.env, tenantOf(c), id, (session) => session.deleteOverlay(input));
      return deleted.ok ? c.body(null, 204) : reply(c, deleted);
    },
  );

export const registerRerunOverlay = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "post",
      path: "/v1/sessions/{session_id}/compactions/{overlay_id}/rerun",
      summary: "Write a summary again",
      description:
        "Of its messages. The present one stands until the new one is there. Another model or instructions need the scope " +
        "`sessions:write-as-server`: models read the summary as the conversation.",
      tags: ["Compactions"],
      request: { params: overlayParams, body: optionalJsonBody(rerunCompactionSchema) },
      responses: { 202: json(compactionJobSchema, "The job") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const { session_id: id, overlay_id: overlay } = c.req.valid("param");
      const { model, instructions } = c.req.valid("json");
      if ((model ?? instructions) !== undefined && sourceOf(tenant) !== "server")
        return reply(c, err(missingScope("sessions:write-as-server")));
      const input = {
        overlay_id: overlay,
        rules: rulesOf(tenant),
        idempotency: await idempotencyOrRequest(c),
        ...(model === undefined ? {} : { model }),
        ...(instructions === undefined ? {} : { instructions }),
      };
      return replyWritten(c, await callSession(c.env, tenant, id, (session) => session.rerunOverlay(input)), 202);
    },
  );

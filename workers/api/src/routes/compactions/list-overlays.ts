/** `GET /v1/sessions/{session_id}/compactions`: the session's overlays. */
import { overlaySchema } from "@sessionplane/shared/overlay";
import { pageOf } from "@sessionplane/shared/page";
import { ok } from "@sessionplane/shared/result";
import { tenantOf } from "../../http/authenticate.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { pageOfSeq, seqPageQuery, seqQueryOf } from "../../http/seq-page.ts";
import { callSession } from "../../session-client.ts";

export const registerListOverlays = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/compactions",
      summary: "List overlays",
      tags: ["Compactions"],
      request: { params: sessionParams, query: seqPageQuery },
      responses: { 200: json(pageOf(overlaySchema), "A page, newest first") },
    }),
    async (c) => {
      const query = seqQueryOf(c.req.valid("query"));
      const result = await callSession(c.env, tenantOf(c), c.req.valid("param").session_id, (session) =>
        session.listOverlays(query),
      );
      return reply(c, result.ok ? ok(pageOfSeq(result.value)) : result);
    },
  );

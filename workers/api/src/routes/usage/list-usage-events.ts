/** `GET /v1/sessions/{session_id}/usage/events`. */
import { pageOf } from "@sessionplane/shared/page";
import { ok } from "@sessionplane/shared/result";
import { usageEventSchema } from "@sessionplane/shared/usage-event";
import { tenantOf } from "../../http/authenticate.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { pageOfSeq, seqPageQuery, seqQueryOf } from "../../http/seq-page.ts";
import { callSession } from "../../session-client.ts";

export const registerListUsageEvents = (app: App) =>
  app.openapi(
    tenantRoute("usage:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/usage/events",
      summary: "List a session's usage events",
      tags: ["Usage"],
      request: { params: sessionParams, query: seqPageQuery },
      responses: { 200: json(pageOf(usageEventSchema), "A page, newest first") },
    }),
    async (c) => {
      const query = seqQueryOf(c.req.valid("query"));
      const result = await callSession(c.env, tenantOf(c), c.req.valid("param").session_id, (session) =>
        session.listUsageEvents(query),
      );
      return reply(c, result.ok ? ok(pageOfSeq(result.value)) : result);
    },
  );

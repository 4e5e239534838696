/** `GET /v1/sessions/{session_id}/export`: the whole session as NDJSON. */
import * as z from "zod";
import { tenantOf } from "../../http/authenticate.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";

export const registerExportSession = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/export",
      summary: "Export a session",
      description:
        "Settings, every branch, summaries and times, with attachments in place. What `POST /v1/sessions/import` " +
        "makes of it exports to the same bytes. Usage stays where it was spent.",
      tags: ["Transfer"],
      request: { params: sessionParams },
      responses: {
        200: {
          description: "A line of the session, then its messages and summaries",
          content: { "application/x-ndjson": { schema: z.string() } },
        },
      },
    }),
    async (c) => {
      const id = c.req.valid("param").session_id;
      const result = await callSession(c.env, tenantOf(c), id, (session) => session.exportSession({}));
      if (!result.ok) return reply(c, result);
      return c.body(result.value, 200, {
        "Content-Type": "application/x-ndjson",
        "Content-Disposition": `attachment; filename="${id}.ndjson"`,
      });
    },
  );

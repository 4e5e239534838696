/** `DELETE /v1/sessions/{session_id}/blocks/{label}`. */
import { tenantOf } from "../../http/authenticate.ts";
import { type App, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";
import { blockParams, writeOf } from "./block-params.ts";

export const registerDeleteBlock = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write-as-server", {
      method: "delete",
      path: "/v1/sessions/{session_id}/blocks/{label}",
      summary: "Delete a context block",
      description: "With its entries. A frozen prompt shows it until it is refreshed.",
      tags: ["Context"],
      request: { params: blockParams },
      responses: { 204: { description: "Deleted" } },
    }),
    async (c) => {
      const write = await writeOf(c);
      if (!write.ok) return reply(c, write);
      const { session_id: id, label } = c.req.valid("param");
      const input = { label, ...write.value };
      const deleted = await callSession(c.env, tenantOf(c), id, (session) => session.deleteBlock(input));
      return deleted.ok ? c.body(null, 204) : reply(c, deleted);
    },
  );

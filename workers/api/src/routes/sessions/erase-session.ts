/** `DELETE /v1/sessions/{session_id}`: what was said is gone at once and for good. `GET …/erasure` shows how far it is. */
import { type Erasure, erasureSchema } from "@sessionplane/shared/erasure";
import { recordAudit } from "../../catalog/audit-events.ts";
import { connect } from "../../catalog/db.ts";
import { auditOf } from "../../http/audit.ts";
import { tenantOf } from "../../http/authenticate.ts";
import { ifMatch } from "../../http/etag.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";

const statusOf = ({ status }: Erasure): 200 | 202 => (status === "complete" ? 200 : 202);

export const registerEraseSession = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write-as-server", {
      method: "delete",
      path: "/v1/sessions/{session_id}",
      summary: "Erase a session",
      description:
        "Messages, summaries, context, settings and attachments. Reading it says 410 from then on; lists and the tenant's search " +
        "follow within seconds. Its usage stays, and calls that were under way are still recorded. Asking again changes nothing.",
      tags: ["Sessions"],
      request: { params: sessionParams },
      responses: {
        200: json(erasureSchema, "It is erased everywhere"),
        202: json(erasureSchema, "It is erased; other stores follow"),
      },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const expected = ifMatch(c);
      if (!expected.ok) return reply(c, expected);
      const id = c.req.valid("param").session_id;
      const input = expected.value === undefined ? {} : { if_match: expected.value };
      const erased = await callSession(c.env, tenant, id, (session) => session.erase(input));
      if (!erased.ok) return reply(c, erased);
      await recordAudit(connect(c.env.CATALOG), auditOf(c, "session.erase", id, tenant.tenantId));
      return reply(c, erased, statusOf(erased.value));
    },
  );

export const registerGetErasure = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/erasure",
      summary: "Get the receipt of a session's erasure",
      tags: ["Sessions"],
      request: { params: sessionParams },
      responses: { 200: json(erasureSchema, "The receipt, `complete` once every store has followed") },
    }),
    async (c) => {
      const id = c.req.valid("param").session_id;
      return reply(c, await callSession(c.env, tenantOf(c), id, (session) => session.readErasure()));
    },
  );

/** `POST /v1/operations/repair`: a session's object tells the catalog everything again. */
import * as z from "zod";
import { sessionIdSchema, tenantIdSchema } from "@sessionplane/shared/ids";
import { ok } from "@sessionplane/shared/result";
import { recordAudit } from "../../catalog/audit-events.ts";
import { connect } from "../../catalog/db.ts";
import { auditOf } from "../../http/audit.ts";
import { type App, json, jsonBody, operatorRoute, reply } from "../../http/routes.ts";
import { callObject } from "../../session-client.ts";

const repairSchema = z.strictObject({ tenant_id: tenantIdSchema, session_id: sessionIdSchema }).meta({ id: "RepairSession" });
const repairedSchema = z
  .object({ session_id: z.string(), facts: z.int().meta({ description: "Log positions that are sent again" }) })
  .meta({ id: "SessionRepair" });

export const registerRepairSession = (app: App) =>
  app.openapi(
    operatorRoute("operations:write", {
      method: "post",
      path: "/v1/operations/repair",
      summary: "Rebuild a session's rows in the catalog",
      description: "From the session's object, in the background. Rows that are there stay; nothing is counted twice.",
      tags: ["Plane"],
      request: { body: jsonBody(repairSchema) },
      responses: { 202: json(repairedSchema, "The facts are on their way") },
    }),
    async (c) => {
      const { tenant_id: tenantId, session_id: sessionId } = c.req.valid("json");
      const result = await callObject(c.env, tenantId, sessionId, (session) => session.repair());
      if (!result.ok) return reply(c, result);
      await recordAudit(connect(c.env.CATALOG), auditOf(c, "session.repair", sessionId, tenantId));
      return reply(c, ok({ session_id: sessionId, facts: result.value }), 202);
    },
  );

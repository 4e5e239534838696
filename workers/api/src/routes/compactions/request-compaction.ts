/** `POST /v1/sessions/{session_id}/compactions`: by hand, whatever the threshold. */
import { compactionJobSchema, requestCompactionSchema } from "@sessionplane/shared/compaction-job";
import { tenantOf } from "../../http/authenticate.ts";
import { idempotencyOf } from "../../http/idempotency.ts";
import { sessionParams } from "../../http/params.ts";
import { rulesOf } from "../../http/principal.ts";
import { type App, json, optionalJsonBody, tenantRoute } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";

export const registerRequestCompaction = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "post",
      path: "/v1/sessions/{session_id}/compactions",
      summary: "Compact a session",
      description: "Answers with the job; while one is open, with that one.",
      tags: ["Compactions"],
      request: { params: sessionParams, body: optionalJsonBody(requestCompactionSchema) },
      responses: { 202: json(compactionJobSchema, "The job") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const { leaf_id: leafId } = c.req.valid("json");
      const input = { rules: rulesOf(tenant), ...(leafId === undefined ? {} : { leaf_id: leafId }), ...(await idempotencyOf(c)) };
      const result = await callSession(c.env, tenant, c.req.valid("param").session_id, (session) =>
        session.requestCompaction(input),
      );
      return replyWritten(c, result, 202);
    },
  );

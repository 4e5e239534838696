/** `GET /v1/compaction-jobs`: across sessions; all tenants for an operator, its own for a tenant. */
import * as z from "zod";
import { compactionJobSchema, jobStateSchema } from "@sessionplane/shared/compaction-job";
import { tenantIdSchema } from "@sessionplane/shared/ids";
import { pageOf } from "@sessionplane/shared/page";
import { ok } from "@sessionplane/shared/result";
import { listJobs } from "../../catalog/compaction-jobs.ts";
import { connect } from "../../catalog/db.ts";
import { catalogAsOf } from "../../catalog/sessions.ts";
import { principalOf } from "../../http/authenticate.ts";
import { boundsOf, instantBounds, pageFrom, pageQuery } from "../../http/list-query.ts";
import { type App, eitherRoute, json, reply } from "../../http/routes.ts";
import { scopeOf } from "../../http/tenant-scope.ts";

const query = z.strictObject({
  ...pageQuery,
  ...instantBounds("created_at"),
  status: jobStateSchema.optional(),
  tenant_id: tenantIdSchema.optional(),
});
const tenantJobSchema = compactionJobSchema.extend({ tenant_id: z.string() }).meta({ id: "TenantCompactionJob" });

export const registerListJobs = (app: App) =>
  app.openapi(
    eitherRoute("sessions:read", "reports:read", {
      method: "get",
      path: "/v1/compaction-jobs",
      summary: "List compaction jobs",
      tags: ["Compactions"],
      request: { query },
      responses: { 200: json(pageOf(tenantJobSchema), "A page, newest first") },
    }),
    async (c) => {
      const { limit, order, cursor, status, tenant_id: tenantId, ...rest } = c.req.valid("query");
      const scope = scopeOf(principalOf(c), tenantId);
      if (!scope.ok) return reply(c, scope);
      const db = connect(c.env.CATALOG);
      const filter = { limit, order, cursor, state: status, createdAt: boundsOf(rest, "created_at") };
      const [rows, asOf] = await Promise.all([listJobs(db, scope.value, filter), catalogAsOf(db, scope.value)]);
      return reply(c, ok(pageFrom(rows, limit, (job) => [Date.parse(job.created_at), job.id], asOf)));
    },
  );

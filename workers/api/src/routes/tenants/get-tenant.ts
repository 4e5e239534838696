/** `GET /v1/tenants/{tenant_id}`. */
import { tenantSchema } from "@sessionplane/shared/tenant";
import { connect } from "../../catalog/db.ts";
import { findTenant } from "../../catalog/tenants.ts";
import { etagOf } from "../../http/etag.ts";
import { foundOr404, tenantParams } from "../../http/params.ts";
import { type App, json, operatorRoute, reply } from "../../http/routes.ts";

export const registerGetTenant = (app: App) =>
  app.openapi(
    operatorRoute("tenants:read", {
      method: "get",
      path: "/v1/tenants/{tenant_id}",
      summary: "Get a tenant",
      tags: ["Tenants"],
      request: { params: tenantParams },
      responses: { 200: json(tenantSchema, "The tenant") },
    }),
    async (c) => {
      const result = foundOr404(await findTenant(connect(c.env.CATALOG), c.req.valid("param").tenant_id));
      return reply(c, result, 200, result.ok ? etagOf(result.value) : {});
    },
  );

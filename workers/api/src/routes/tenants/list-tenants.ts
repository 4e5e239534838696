/** `GET /v1/tenants`. */
import * as z from "zod";
import { externalIdSchema } from "@sessionplane/shared/fields";
import { pageOf } from "@sessionplane/shared/page";
import { ok } from "@sessionplane/shared/result";
import { tenantSchema } from "@sessionplane/shared/tenant";
import { connect } from "../../catalog/db.ts";
import { listTenants } from "../../catalog/tenants.ts";
import { boundsOf, instantBounds, now, pageFrom, pageQuery } from "../../http/list-query.ts";
import { type App, json, operatorRoute, reply } from "../../http/routes.ts";

const query = z.strictObject({ ...pageQuery, ...instantBounds("created_at"), external_id: externalIdSchema.optional() });

export const registerListTenants = (app: App) =>
  app.openapi(
    operatorRoute("tenants:read", {
      method: "get",
      path: "/v1/tenants",
      summary: "List tenants",
      tags: ["Tenants"],
      request: { query },
      responses: { 200: json(pageOf(tenantSchema), "A page, newest first") },
    }),
    async (c) => {
      const { limit, order, cursor, external_id: externalId, ...rest } = c.req.valid("query");
      const rows = await listTenants(connect(c.env.CATALOG), {
        limit,
        order,
        createdAt: boundsOf(rest, "created_at"),
        cursor,
        externalId,
      });
      return reply(c, ok(pageFrom(rows, limit, (tenant) => [Date.parse(tenant.created_at), tenant.id], now())));
    },
  );

/** `GET /v1/price-aliases`. */
import * as z from "zod";
import { tenantIdSchema } from "@sessionplane/shared/ids";
import { pageOf } from "@sessionplane/shared/page";
import { priceAliasSchema } from "@sessionplane/shared/price-alias";
import { ok } from "@sessionplane/shared/result";
import { connect } from "../../catalog/db.ts";
import { listAliases } from "../../catalog/price-aliases.ts";
import { now, pageFrom, pageQuery } from "../../http/list-query.ts";
import { type App, json, operatorRoute, reply } from "../../http/routes.ts";

const query = z.strictObject({
  ...pageQuery,
  provider: z.string().max(100).optional(),
  model: z.string().max(200).optional(),
  tenant_id: tenantIdSchema.optional(),
});

export const registerListAliases = (app: App) =>
  app.openapi(
    operatorRoute("reports:read", {
      method: "get",
      path: "/v1/price-aliases",
      summary: "List price aliases",
      tags: ["Prices"],
      request: { query },
      responses: { 200: json(pageOf(priceAliasSchema), "A page, by the time of recording, newest first") },
    }),
    async (c) => {
      const { tenant_id: tenantId, ...filter } = c.req.valid("query");
      const rows = await listAliases(connect(c.env.CATALOG), tenantId ?? "all_tenants", filter);
      return reply(c, ok(pageFrom(rows, filter.limit, (alias) => [Date.parse(alias.recorded_at), alias.id], now())));
    },
  );

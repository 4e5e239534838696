/** `GET /v1/prices`. */
import * as z from "zod";
import { tenantIdSchema } from "@sessionplane/shared/ids";
import { pageOf } from "@sessionplane/shared/page";
import { priceSchema, usageClassSchema } from "@sessionplane/shared/price";
import { ok } from "@sessionplane/shared/result";
import { connect } from "../../catalog/db.ts";
import { listPrices } from "../../catalog/prices.ts";
import { now, pageFrom, pageQuery } from "../../http/list-query.ts";
import { type App, json, operatorRoute, reply } from "../../http/routes.ts";

const query = z.strictObject({
  ...pageQuery,
  provider: z.string().max(100).optional(),
  model: z.string().max(200).optional(),
  class: usageClassSchema.optional(),
  tenant_id: tenantIdSchema.optional(),
});

export const registerListPrices = (app: App) =>
  app.openapi(
    operatorRoute("reports:read", {
      method: "get",
      path: "/v1/prices",
      summary: "List prices",
      tags: ["Prices"],
      request: { query },
      responses: { 200: json(pageOf(priceSchema), "A page, by the time of recording, newest first") },
    }),
    async (c) => {
      const { tenant_id: tenantId, ...filter } = c.req.valid("query");
      const rows = await listPrices(connect(c.env.CATALOG), tenantId ?? "all_tenants", filter);
      return reply(c, ok(pageFrom(rows, filter.limit, (price) => [Date.parse(price.recorded_at), price.id], now())));
    },
  );

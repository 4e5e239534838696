/** `GET /v1/prices/resolve`: which prices hold for a model at a moment. */
import * as z from "zod";
import { COUNTED_UNITS, TOKEN_CLASSES, priceSchema, usageClassSchema } from "@sessionplane/shared/price";
import { formatInstant } from "@sessionplane/shared/fields";
import { tenantIdSchema } from "@sessionplane/shared/ids";
import { ok } from "@sessionplane/shared/result";
import { resolvePrice } from "../../billing/resolve-price.ts";
import { connect } from "../../catalog/db.ts";
import { pricesOfModel, toPrice } from "../../catalog/prices.ts";
import { principalOf } from "../../http/authenticate.ts";
import { epochSchema } from "../../http/list-query.ts";
import { type App, eitherRoute, json, reply } from "../../http/routes.ts";
import { scopeOf } from "../../http/tenant-scope.ts";

const query = z.strictObject({
  provider: z.string().min(1).max(100),
  model: z.string().min(1).max(200),
  at: epochSchema.optional().meta({ description: "Now, when absent" }),
  class: usageClassSchema.optional(),
  tenant_id: tenantIdSchema.optional(),
  input_tokens: z.coerce.number().int().min(0).default(0).meta({ description: "Of the whole call, for tiers" }),
});

const resolvedSchema = z
  .object({
    provider: z.string(),
    model: z.string(),
    at: z.iso.datetime(),
    prices: z.array(z.object({ class: usageClassSchema, price: priceSchema })),
    unpriced: z.array(usageClassSchema),
  })
  .meta({ id: "ResolvedPrices" });

export const registerResolvePrice = (app: App) =>
  app.openapi(
    eitherRoute("usage:read", "reports:read", {
      method: "get",
      path: "/v1/prices/resolve",
      summary: "Say which prices hold",
      tags: ["Prices"],
      request: { query },
      responses: { 200: json(resolvedSchema, "A price for each class that has one") },
    }),
    async (c) => {
      const {
        provider,
        model,
        at = Date.now(),
        class: wanted,
        tenant_id: asked,
        input_tokens: inputTokens,
      } = c.req.valid("query");
      const scope = scopeOf(principalOf(c), asked);
      if (!scope.ok) return reply(c, scope);
      const rows = await pricesOfModel(
        connect(c.env.CATALOG),
        scope.value === "all_tenants" ? null : scope.value,
        provider,
        model,
      );
      const classes = wanted === undefined ? [...TOKEN_CLASSES, ...COUNTED_UNITS] : [wanted];
      const found = classes.map((name) => ({ class: name, row: resolvePrice(rows, name, { at, inputTokens }) }));
      const prices = found.flatMap((one) =>
        one.row === null ? [] : [{ class: one.class, price: toPrice(one.row, provider, model, rows) }],
      );
      const unpriced = found.filter((one) => one.row === null).map((one) => one.class);
      return reply(c, ok({ provider, model, at: formatInstant(at), prices, unpriced }));
    },
  );

/** `GET /v1/prices/resolve`: which prices hold for a model at a moment. */
import * as z from "zod";
import { COUNTED_UNITS, TOKEN_CLASSES, priceSchema, usageClassSchema } from "@sessionplane/shared/price";
import { formatInstant } from "@sessionplane/shared/fields";
import { tenantIdSchema } from "@sessionplane/shared/ids";
import { err, ok } from "@sessionplane/shared/result";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { modelOf } from "../../billing/price-usage.ts";
import { pricesAt, resolvePrice } from "../../billing/resolve-price.ts";
import { connect } from "../../catalog/db.ts";
import { priceAmong, pricesOfModels } from "../../catalog/prices.ts";
import { principalOf } from "../../http/authenticate.ts";
import { epochSchema } from "../../http/list-query.ts";
import { type App, eitherRoute, json, reply } from "../../http/routes.ts";
import { scopeOf } from "../../http/tenant-scope.ts";

const query = z.strictObject({
  provider: z.string().min(1).max(100).optional().meta({ description: "May be left out when model is provider/model" }),
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
    alias: z
      .object({ id: z.string(), provider: z.string(), model: z.string() })
      .nullable()
      .meta({ description: "The alias by which the model is priced, and whose prices these are" }),
  })
  .meta({ id: "ResolvedPrices" });

/** A refusal of a body's field, as one of the query parameter of the same name. */
const asParameter = ({ code, detail, errors = [] }: Problem): Problem =>
  problem(code, detail, { errors: errors.map((error) => ({ ...error, pointer: error.pointer.replace("/", "?") })) });

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
      const { at = Date.now(), class: wanted, tenant_id: asked, input_tokens: inputTokens, ...named } = c.req.valid("query");
      const scope = scopeOf(principalOf(c), asked);
      if (!scope.ok) return reply(c, scope);
      const name = modelOf(named);
      if (!name.ok) return reply(c, err(asParameter(name.error)));
      const { provider, model } = name.value;
      const owner = scope.value === "all_tenants" ? "plane" : scope.value;
      const [book] = await pricesOfModels(connect(c.env.CATALOG), owner, [name.value]);
      const { rows, alias } = pricesAt(book ?? { provider, model, rows: [], aliases: [] }, at);
      const classes = wanted === undefined ? [...TOKEN_CLASSES, ...COUNTED_UNITS] : [wanted];
      const found = classes.map((name) => ({ class: name, row: resolvePrice(rows, name, { at, inputTokens }) }));
      const prices = found.flatMap((one) => (one.row === null ? [] : [{ class: one.class, price: priceAmong(rows, one.row) }]));
      const unpriced = found.filter((one) => one.row === null).map((one) => one.class);
      return reply(c, ok({ provider, model, at: formatInstant(at), prices, unpriced, alias }));
    },
  );

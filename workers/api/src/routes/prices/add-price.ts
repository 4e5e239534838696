/** `POST /v1/prices`. */
import type { Context } from "hono";
import type { z } from "@hono/zod-openapi";
import { type NewPrice, type Price, newPriceSchema, priceSchema } from "@sessionplane/shared/price";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { forgetPrices } from "../../billing/price-book.ts";
import { connect } from "../../catalog/db.ts";
import { compareEntries, insertEntries, toEntry } from "../../catalog/price-entries.ts";
import { ofModel } from "../../billing/resolve-price.ts";
import { priceAmong, pricesOfModels } from "../../catalog/prices.ts";
import { findTenant } from "../../catalog/tenants.ts";
import type { AppEnv } from "../../env.ts";
import { auditOf } from "../../http/audit.ts";
import { keepReply, resourceId } from "../../http/idempotency.ts";
import { type App, json, jsonBody, operatorRoute, reply } from "../../http/routes.ts";

const CONFLICT = problem(
  "price_conflict",
  "Another amount holds from this instant on. Prices are never changed: add one from a later instant.",
  {
    errors: [{ pointer: "/effective_from", code: "price_conflict", message: "another amount holds from this instant on" }],
  },
);

async function addPrice(c: Context<AppEnv>, input: NewPrice): Promise<Result<Price, Problem>> {
  const db = connect(c.env.CATALOG);
  const tenantId = input.tenant_id ?? null;
  if (tenantId !== null && (await findTenant(db, tenantId)) === null)
    return err(fieldProblem("invalid", "/tenant_id", "is no tenant"));
  const entry = toEntry(input, resourceId(c, "price"));
  const [verdict] = await compareEntries(db, [entry]);
  if (verdict === "conflict") return err(CONFLICT);
  if (verdict === "new") await insertEntries(db, [entry], auditOf(c, "price.add", entry.id, tenantId));
  forgetPrices();
  const rows = (await pricesOfModels(db, tenantId ?? "plane", [input])).flatMap((prices) => ofModel(prices, input));
  const row = rows.find(
    (one) =>
      one.tenantId === entry.tenant &&
      one.class === entry.class &&
      one.tierMin === entry.tier &&
      one.effectiveFrom === entry.from,
  );
  // Two at once with different amounts: the other one was first.
  return row?.femtoUsdPerToken === entry.femto ? ok(priceAmong(rows, row)) : err(CONFLICT);
}

export const registerAddPrice = (app: App) =>
  app.openapi(
    operatorRoute("prices:write", {
      method: "post",
      path: "/v1/prices",
      summary: "Add a price",
      description: "From `effective_from` on it supersedes the one before. Adding the same price again changes nothing.",
      tags: ["Prices"],
      middleware: keepReply(),
      request: { body: jsonBody(newPriceSchema satisfies z.ZodType) },
      responses: { 201: json(priceSchema, "The price") },
    }),
    async (c) => reply(c, await addPrice(c, c.req.valid("json")), 201),
  );

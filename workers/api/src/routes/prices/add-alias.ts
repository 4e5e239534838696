/** `POST /v1/price-aliases`. */
import type { Context } from "hono";
import type { z } from "@hono/zod-openapi";
import { type NewPriceAlias, type PriceAlias, newPriceAliasSchema, priceAliasSchema } from "@sessionplane/shared/price-alias";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { forgetPrices } from "../../billing/price-book.ts";
import type { AliasRow } from "../../billing/resolve-price.ts";
import { connect } from "../../catalog/db.ts";
import { findAlias, insertAlias, toAlias } from "../../catalog/price-aliases.ts";
import { PLANE } from "../../catalog/price-entries.ts";
import { findTenant } from "../../catalog/tenants.ts";
import type { AppEnv } from "../../env.ts";
import { auditOf } from "../../http/audit.ts";
import { keepReply, resourceId } from "../../http/idempotency.ts";
import { type App, json, jsonBody, operatorRoute, reply } from "../../http/routes.ts";

const CONFLICT = problem(
  "price_conflict",
  "Another alias of the model holds from this instant on. Aliases are never changed: add one from a later instant.",
  {
    errors: [{ pointer: "/effective_from", code: "price_conflict", message: "another alias holds from this instant on" }],
  },
);

const rowOf = (input: NewPriceAlias, id: string): AliasRow => ({
  id,
  tenantId: input.tenant_id ?? PLANE,
  provider: input.provider,
  model: input.model,
  targetProvider: input.target_model === null ? null : (input.target_provider ?? input.provider),
  targetModel: input.target_model,
  effectiveFrom: Date.parse(input.effective_from),
  recordedAt: Date.now(),
});

const isSame = (a: AliasRow, b: AliasRow): boolean => a.targetProvider === b.targetProvider && a.targetModel === b.targetModel;

type Added = { readonly alias: PriceAlias; readonly isNew: boolean };

async function addAlias(c: Context<AppEnv>, input: NewPriceAlias): Promise<Result<Added, Problem>> {
  const db = connect(c.env.CATALOG);
  const tenantId = input.tenant_id ?? null;
  if (tenantId !== null && (await findTenant(db, tenantId)) === null)
    return err(fieldProblem("invalid", "/tenant_id", "is no tenant"));
  const row = rowOf(input, resourceId(c, "alias"));
  if ((await findAlias(db, row)) === null) await insertAlias(db, row, auditOf(c, "price_alias.add", row.id, tenantId));
  forgetPrices();
  // Two at once with different targets: the other one was first.
  const present = await findAlias(db, row);
  if (present === null || !isSame(present, row)) return err(CONFLICT);
  return ok({ alias: toAlias(present), isNew: present.id === row.id });
}

export const registerAddAlias = (app: App) =>
  app.openapi(
    operatorRoute("prices:write", {
      method: "post",
      path: "/v1/price-aliases",
      summary: "Add a price alias",
      description:
        "A model that has no price of its own in force is priced as the one that its alias names; no further: an alias of that one is " +
        "not followed. From `effective_from` on it supersedes the one before, and `target_model: null` ends it. A tenant's own alias " +
        "comes before the plane's, also one that ends. Calls of before follow when they are rated again.",
      tags: ["Prices"],
      middleware: keepReply(),
      request: { body: jsonBody(newPriceAliasSchema satisfies z.ZodType) },
      responses: { 201: json(priceAliasSchema, "The alias"), 200: json(priceAliasSchema, "It is there already") },
    }),
    async (c) => {
      const added = await addAlias(c, c.req.valid("json"));
      return added.ok ? reply(c, ok(added.value.alias), added.value.isNew ? 201 : 200) : reply(c, added);
    },
  );

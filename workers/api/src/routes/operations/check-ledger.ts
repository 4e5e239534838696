/** `POST /v1/ledger/verify` and `…/rebuild`: the catalog's sums held against its events, and made of them again. */
import type * as z from "zod";
import { type LedgerCheck, ledgerCheckSchema, ledgerRangeSchema } from "@sessionplane/shared/ledger-check";
import { fieldProblem } from "@sessionplane/shared/problem";
import { err, ok } from "@sessionplane/shared/result";
import { type CatalogDb, connect } from "../../catalog/db.ts";
import { type RollupRange, rebuildRollups, rollupDifferences, sessionDifferences } from "../../catalog/rollups.ts";
import { findTenant } from "../../catalog/tenants.ts";
import { auditOf } from "../../http/audit.ts";
import { type App, json, jsonBody, operatorRoute, reply } from "../../http/routes.ts";

const MAX_SHOWN = 100;
const NO_TENANT = fieldProblem("invalid", "/tenant_id", "is no tenant");

const rangeOf = ({ tenant_id: tenantId, start, end }: z.output<typeof ledgerRangeSchema>): RollupRange => ({
  tenantId,
  start: Date.parse(start),
  end: Date.parse(end),
});

async function check(db: CatalogDb, range: RollupRange): Promise<LedgerCheck> {
  const [rollups, sessions] = await Promise.all([
    rollupDifferences(db, range, MAX_SHOWN),
    sessionDifferences(db, range, MAX_SHOWN),
  ]);
  return { sound: rollups.length === 0 && sessions.length === 0, rollups, sessions };
}

export function registerCheckLedger(app: App): void {
  app.openapi(
    operatorRoute("operations:write", {
      method: "post",
      path: "/v1/ledger/verify",
      summary: "Hold sums against events",
      description:
        "The rollups that reports read against the events of a tenant's range of at most 31 days, and the totals of the sessions " +
        "that have calls in it against all of their events. Changes nothing. A session's totals may be ahead for as long as its " +
        "events are on their way; where they stay so, `POST /v1/operations/repair` sends them again.",
      tags: ["Plane"],
      request: { body: jsonBody(ledgerRangeSchema) },
      responses: { 200: json(ledgerCheckSchema, "What differs") },
    }),
    async (c) => {
      const db = connect(c.env.CATALOG);
      const range = rangeOf(c.req.valid("json"));
      if ((await findTenant(db, range.tenantId)) === null) return reply(c, err(NO_TENANT));
      return reply(c, ok(await check(db, range)));
    },
  );
  app.openapi(
    operatorRoute("operations:write", {
      method: "post",
      path: "/v1/ledger/rebuild",
      summary: "Sum events up again",
      description: "Makes the rollups of a tenant's range of its events, all at once, and answers with what `verify` says then.",
      tags: ["Plane"],
      request: { body: jsonBody(ledgerRangeSchema) },
      responses: { 200: json(ledgerCheckSchema, "What differs still") },
    }),
    async (c) => {
      const db = connect(c.env.CATALOG);
      const range = rangeOf(c.req.valid("json"));
      if ((await findTenant(db, range.tenantId)) === null) return reply(c, err(NO_TENANT));
      const { start, end } = c.req.valid("json");
      await rebuildRollups(db, range, auditOf(c, "ledger.rebuild", `${start}/${end}`, range.tenantId));
      return reply(c, ok(await check(db, range)));
    },
  );
}

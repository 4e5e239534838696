/** `POST /v1/ledger/verify` and `…/rebuild`: the catalog's sums held against its events, and made of them again. */
import type * as z from "zod";
import { ledgerCheckSchema, ledgerRangeSchema } from "@sessionplane/shared/ledger-check";
import { fieldProblem } from "@sessionplane/shared/problem";
import { err } from "@sessionplane/shared/result";
import { checkLedger, rebuildLedger } from "../../archive/ledger-check.ts";
import { connect } from "../../catalog/db.ts";
import type { RollupRange } from "../../catalog/rollups.ts";
import { findTenant } from "../../catalog/tenants.ts";
import { auditOf } from "../../http/audit.ts";
import { type App, json, jsonBody, operatorRoute, reply } from "../../http/routes.ts";

const NO_TENANT = fieldProblem("invalid", "/tenant_id", "is no tenant");

const rangeOf = ({ tenant_id: tenantId, start, end }: z.output<typeof ledgerRangeSchema>): RollupRange => ({
  tenantId,
  start: Date.parse(start),
  end: Date.parse(end),
});

export function registerCheckLedger(app: App): void {
  app.openapi(
    operatorRoute("operations:write", {
      method: "post",
      path: "/v1/ledger/verify",
      summary: "Hold sums against events",
      description:
        "The rollups that reports read against the events of a tenant's range of at most 31 days, and the totals of the sessions " +
        "that have calls in it against all of their events. Changes nothing. A session's totals may be ahead for as long as its " +
        "events are on their way; where they stay so, `POST /v1/operations/repair` sends them again. A range whose events are " +
        "archived is read from its files, and compared whole: it may not cut a day that is kept whole.",
      tags: ["Plane"],
      request: { body: jsonBody(ledgerRangeSchema) },
      responses: { 200: json(ledgerCheckSchema, "What differs") },
    }),
    async (c) => {
      const db = connect(c.env.CATALOG);
      const range = rangeOf(c.req.valid("json"));
      if ((await findTenant(db, range.tenantId)) === null) return reply(c, err(NO_TENANT));
      return reply(c, await checkLedger(c.env, range));
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
      const audit = auditOf(c, "ledger.rebuild", `${start}/${end}`, range.tenantId);
      return reply(c, await rebuildLedger(c.env, range, audit));
    },
  );
}

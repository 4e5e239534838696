/** `POST /v1/ledger/archive`, and `GET /v1/ledger/archives`. */
import * as z from "zod";
import { tenantIdSchema } from "@sessionplane/shared/ids";
import { archiveRequestSchema, archiveStepSchema, usageArchiveSchema } from "@sessionplane/shared/ledger-archive";
import { pageOf } from "@sessionplane/shared/page";
import { fieldProblem } from "@sessionplane/shared/problem";
import { err, ok } from "@sessionplane/shared/result";
import { archiveLedger, keptSince } from "../../archive/archive-ledger.ts";
import { recordAudit } from "../../catalog/audit-events.ts";
import { connect } from "../../catalog/db.ts";
import { findTenant } from "../../catalog/tenants.ts";
import { listArchives } from "../../catalog/usage-archives.ts";
import { auditOf } from "../../http/audit.ts";
import { boundsOf, instantBounds, now, pageFrom, pageQuery } from "../../http/list-query.ts";
import { type App, json, jsonBody, operatorRoute, reply } from "../../http/routes.ts";

const NO_TENANT = fieldProblem("invalid", "/tenant_id", "is no tenant");
const IN_THE_FUTURE = fieldProblem("invalid", "/before", "is in the future");

export const registerArchiveLedger = (app: App) =>
  app.openapi(
    operatorRoute("operations:write", {
      method: "post",
      path: "/v1/ledger/archive",
      summary: "Archive old usage",
      description:
        "Events of calls before an instant go to files in R2, and their sums are kept by day of the tenant's `billing_timezone`. One " +
        "step a request, in the order of sessions: ask again with `next_cursor` while `has_more`. Costs and totals stay what they are; the plane does " +
        "the same by itself with what is older than `LEDGER_KEPT_DAYS`.",
      tags: ["Plane"],
      request: { body: jsonBody(archiveRequestSchema) },
      responses: { 200: json(archiveStepSchema, "What the step did") },
    }),
    async (c) => {
      const { tenant_id: tenantId, before, cursor } = c.req.valid("json");
      const db = connect(c.env.CATALOG);
      const tenant = await findTenant(db, tenantId);
      if (tenant === null) return reply(c, err(NO_TENANT));
      const until = before === undefined ? keptSince(c.env, Date.now()) : Date.parse(before);
      if (until > Date.now()) return reply(c, err(IN_THE_FUTURE));
      const step = await archiveLedger(c.env, { tenantId, timeZone: tenant.settings.billing_timezone, before: until }, cursor);
      if (step.files > 0 || step.quarters > 0) await recordAudit(db, auditOf(c, "ledger.archive", step.before, tenantId));
      return reply(c, ok(step));
    },
  );

const query = z.strictObject({ ...pageQuery, ...instantBounds("created_at"), tenant_id: tenantIdSchema.optional() });

export const registerListArchives = (app: App) =>
  app.openapi(
    operatorRoute("reports:read", {
      method: "get",
      path: "/v1/ledger/archives",
      summary: "List archived usage",
      description: "Files in R2, each gzipped NDJSON with an event a line; `<tenant>/usage/manifest.json` there says the same.",
      tags: ["Plane"],
      request: { query },
      responses: { 200: json(pageOf(usageArchiveSchema), "A page, newest first") },
    }),
    async (c) => {
      const { tenant_id: tenantId, limit, order, cursor, ...rest } = c.req.valid("query");
      const list = { limit, order, cursor, createdAt: boundsOf(rest, "created_at") };
      const rows = await listArchives(connect(c.env.CATALOG), tenantId ?? "all_tenants", list);
      return reply(c, ok(pageFrom(rows, limit, (row) => [Date.parse(row.created_at), row.id], now())));
    },
  );

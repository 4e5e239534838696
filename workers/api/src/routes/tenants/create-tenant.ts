/** `POST /v1/tenants` and `PUT /v1/tenants/by-external-id/{x}`. */
import type { Context } from "hono";
import { z } from "@hono/zod-openapi";
import { externalIdSchema } from "@sessionplane/shared/fields";
import { problem, type Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { type CreateTenant, type Tenant, createTenantSchema, tenantSchema } from "@sessionplane/shared/tenant";
import { connect } from "../../catalog/db.ts";
import { findTenant, findTenantByExternalId, insertTenant } from "../../catalog/tenants.ts";
import type { AppEnv } from "../../env.ts";
import { auditOf } from "../../http/audit.ts";
import { etagOf } from "../../http/etag.ts";
import { keepReply, resourceId } from "../../http/idempotency.ts";
import { type App, json, jsonBody, operatorRoute, reply } from "../../http/routes.ts";
import { planePolicy } from "../../plane-policy.ts";
import { mergeSettings } from "./tenant-settings.ts";
import { DEFAULT_TENANT_SETTINGS } from "@sessionplane/shared/tenant";

async function createTenant(c: Context<AppEnv>, input: CreateTenant): Promise<Result<Tenant, Problem>> {
  const settings = mergeSettings(DEFAULT_TENANT_SETTINGS, input.settings ?? {}, planePolicy(c.env));
  if (!settings.ok) return settings;
  const db = connect(c.env.CATALOG);
  const id = resourceId(c, "tenant");
  const tenant = {
    id,
    name: input.name,
    external_id: input.external_id ?? null,
    metadata: input.metadata ?? {},
    settings: settings.value,
  };
  await insertTenant(db, tenant, auditOf(c, "tenant.create", id, id));
  const created = await findTenant(db, id);
  return created === null ? err(externalIdTaken(input.external_id)) : ok(created);
}

const externalIdTaken = (externalId: string | undefined): Problem =>
  problem("already_exists", `Another tenant has the external id ${externalId}.`, {
    errors: [{ pointer: "/external_id", code: "already_exists", message: "another tenant has it" }],
  });

export const registerCreateTenant = (app: App) =>
  app.openapi(
    operatorRoute("tenants:write", {
      method: "post",
      path: "/v1/tenants",
      summary: "Provision a tenant",
      tags: ["Tenants"],
      middleware: keepReply(),
      request: { body: jsonBody(createTenantSchema) },
      responses: { 201: json(tenantSchema, "The tenant") },
    }),
    async (c) => {
      const result = await createTenant(c, c.req.valid("json"));
      return reply(c, result, 201, result.ok ? etagOf(result.value) : {});
    },
  );

export const registerPutTenant = (app: App) =>
  app.openapi(
    operatorRoute("tenants:write", {
      method: "put",
      path: "/v1/tenants/by-external-id/{external_id}",
      summary: "Provision a tenant, or return the one with this external id",
      tags: ["Tenants"],
      request: {
        params: z.object({ external_id: externalIdSchema }),
        body: jsonBody(createTenantSchema.omit({ external_id: true })),
      },
      responses: { 200: json(tenantSchema, "It was there"), 201: json(tenantSchema, "It was made") },
    }),
    async (c) => {
      const externalId = c.req.valid("param").external_id;
      const existing = await findTenantByExternalId(connect(c.env.CATALOG), externalId);
      if (existing !== null) return reply(c, ok(existing), 200, etagOf(existing));
      const result = await createTenant(c, { ...c.req.valid("json"), external_id: externalId });
      // Two at once: the other one made it in between.
      const made = result.ok ? null : await findTenantByExternalId(connect(c.env.CATALOG), externalId);
      if (made !== null) return reply(c, ok(made), 200, etagOf(made));
      return reply(c, result, 201, result.ok ? etagOf(result.value) : {});
    },
  );

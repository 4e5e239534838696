/** `GET /v1/tenants/{tenant_id}/keys` and `GET /v1/operator-keys`: never a secret, never a hash. */
import { NOT_FOUND } from "@sessionplane/shared/problem";
import type { Context } from "hono";
import * as z from "zod";
import { type ApiKey, apiKeySchema } from "@sessionplane/shared/api-key";
import { type Page, pageOf } from "@sessionplane/shared/page";
import { err, ok } from "@sessionplane/shared/result";
import { type KeyOwner, listKeys } from "../../catalog/api-keys.ts";
import { connect } from "../../catalog/db.ts";
import type { InstantList } from "../../catalog/instant-list.ts";
import { findTenant } from "../../catalog/tenants.ts";
import type { AppEnv } from "../../env.ts";
import { now, pageFrom, pageQuery } from "../../http/list-query.ts";
import { tenantParams } from "../../http/params.ts";
import { type App, json, operatorRoute, reply } from "../../http/routes.ts";

const query = z.strictObject(pageQuery);

async function page(c: Context<AppEnv>, owner: KeyOwner, list: Omit<InstantList, "createdAt">): Promise<Page<ApiKey>> {
  const rows = await listKeys(connect(c.env.CATALOG), owner, list);
  return pageFrom(rows, list.limit, (key) => [Date.parse(key.created_at), key.id], now());
}

export const registerListTenantKeys = (app: App) =>
  app.openapi(
    operatorRoute("tenants:read", {
      method: "get",
      path: "/v1/tenants/{tenant_id}/keys",
      summary: "List a tenant's keys",
      tags: ["Keys"],
      request: { params: tenantParams, query },
      responses: { 200: json(pageOf(apiKeySchema), "A page, newest first") },
    }),
    async (c) => {
      const tenantId = c.req.valid("param").tenant_id;
      if ((await findTenant(connect(c.env.CATALOG), tenantId)) === null) return reply(c, err(NOT_FOUND));
      return reply(c, ok(await page(c, tenantId, c.req.valid("query"))));
    },
  );

export const registerListOperatorKeys = (app: App) =>
  app.openapi(
    operatorRoute("keys:write", {
      method: "get",
      path: "/v1/operator-keys",
      summary: "List the operators' keys",
      tags: ["Keys"],
      request: { query },
      responses: { 200: json(pageOf(apiKeySchema), "A page, newest first") },
    }),
    async (c) => reply(c, ok(await page(c, "operator", c.req.valid("query")))),
  );

/** `DELETE /v1/tenants/{tenant_id}/keys/{key_id}` and `DELETE /v1/operator-keys/{key_id}`. */
import { NOT_FOUND } from "@sessionplane/shared/problem";
import type { Context } from "hono";
import * as z from "zod";
import { type KeyOwner, revokeKey } from "../../catalog/api-keys.ts";
import { connect } from "../../catalog/db.ts";
import type { AppEnv } from "../../env.ts";
import { type ApiKeyId, apiKeyIdSchema } from "@sessionplane/shared/ids";
import { auditOf } from "../../http/audit.ts";
import { forgetKeys } from "../../http/authenticate.ts";
import { tenantParams } from "../../http/params.ts";
import { problemReply } from "../../http/problems.ts";
import { type App, operatorRoute } from "../../http/routes.ts";

const keyParams = z.object({ key_id: apiKeyIdSchema });

async function revoke(c: Context<AppEnv>, owner: KeyOwner, id: ApiKeyId): Promise<Response> {
  const audit = auditOf(c, "key.revoke", id, owner === "operator" ? null : owner);
  if (!(await revokeKey(connect(c.env.CATALOG), owner, id, audit))) return problemReply(c, NOT_FOUND);
  forgetKeys();
  return c.body(null, 204);
}

const revoked = { 204: { description: "Revoked, everywhere within the bound of the key cache" } };

export const registerRevokeTenantKey = (app: App) =>
  app.openapi(
    operatorRoute("keys:write", {
      method: "delete",
      path: "/v1/tenants/{tenant_id}/keys/{key_id}",
      summary: "Revoke a tenant's key",
      tags: ["Keys"],
      request: { params: tenantParams.extend(keyParams.shape) },
      responses: revoked,
    }),
    async (c) => {
      const { tenant_id: tenantId, key_id: keyId } = c.req.valid("param");
      return revoke(c, tenantId, keyId);
    },
  );

export const registerRevokeOperatorKey = (app: App) =>
  app.openapi(
    operatorRoute("keys:write", {
      method: "delete",
      path: "/v1/operator-keys/{key_id}",
      summary: "Revoke an operator's key",
      tags: ["Keys"],
      request: { params: keyParams },
      responses: revoked,
    }),
    async (c) => revoke(c, "operator", c.req.valid("param").key_id),
  );

/** `POST /v1/tenants/{tenant_id}/keys` and `POST /v1/operator-keys`. The secret is in this reply alone. */
import type { Context } from "hono";
import type * as z from "zod";
import { createOperatorKeySchema, createTenantKeySchema, createdApiKeySchema } from "@sessionplane/shared/api-key";
import { NOT_FOUND, type Problem, fieldProblem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { type KeyOwner, insertKey } from "../../catalog/api-keys.ts";
import { connect } from "../../catalog/db.ts";
import { findTenant } from "../../catalog/tenants.ts";
import type { AppEnv } from "../../env.ts";
import { auditOf } from "../../http/audit.ts";
import { keepReply, resourceId } from "../../http/idempotency.ts";
import { tenantParams } from "../../http/params.ts";
import { type App, json, jsonBody, operatorRoute, reply } from "../../http/routes.ts";
import { type KeyPrefix, newSecret } from "../../http/secret.ts";

type Input = { name: string; scopes: readonly string[]; expires_at?: string | undefined };
type CreatedKey = z.infer<typeof createdApiKeySchema>;

async function createKey(
  c: Context<AppEnv>,
  owner: KeyOwner,
  prefix: KeyPrefix,
  input: Input,
): Promise<Result<CreatedKey, Problem>> {
  const expiresAt = input.expires_at === undefined ? null : Date.parse(input.expires_at);
  if (expiresAt !== null && expiresAt <= Date.now()) return err(fieldProblem("invalid", "/expires_at", "must be in the future"));
  const { key, hash, start } = await newSecret(prefix);
  const id = resourceId(c, "apiKey");
  const audit = auditOf(c, "key.create", id, owner === "operator" ? null : owner);
  const row = await insertKey(
    connect(c.env.CATALOG),
    owner,
    { id, hash, start, name: input.name, scopes: input.scopes, expiresAt },
    audit,
  );
  return ok({ ...row, key });
}

export const registerCreateTenantKey = (app: App) =>
  app.openapi(
    operatorRoute("keys:write", {
      method: "post",
      path: "/v1/tenants/{tenant_id}/keys",
      summary: "Make a tenant's key",
      tags: ["Keys"],
      middleware: keepReply({ secret: true }),
      request: { params: tenantParams, body: jsonBody(createTenantKeySchema) },
      responses: { 201: json(createdApiKeySchema, "The key, with its secret") },
    }),
    async (c) => {
      const tenantId = c.req.valid("param").tenant_id;
      if ((await findTenant(connect(c.env.CATALOG), tenantId)) === null) return reply(c, err(NOT_FOUND));
      const { mode = "live", ...input } = c.req.valid("json");
      return reply(c, await createKey(c, tenantId, `sp_${mode}_`, input), 201);
    },
  );

export const registerCreateOperatorKey = (app: App) =>
  app.openapi(
    operatorRoute("keys:write", {
      method: "post",
      path: "/v1/operator-keys",
      summary: "Make an operator's key",
      description: "A key can't give more than it has.",
      tags: ["Keys"],
      middleware: keepReply({ secret: true }),
      request: { body: jsonBody(createOperatorKeySchema) },
      responses: { 201: json(createdApiKeySchema, "The key, with its secret") },
    }),
    async (c) => {
      const input = c.req.valid("json");
      const beyond = input.scopes.find((scope) => !c.get("principal")?.scopes.includes(scope));
      if (beyond !== undefined)
        return reply(c, err(fieldProblem("insufficient_scope", "/scopes", `your key does not have ${beyond}`)));
      return reply(c, await createKey(c, "operator", "spo_", input), 201);
    },
  );

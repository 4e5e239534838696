/** `PATCH /v1/tenants/{tenant_id}`. */
import type { Context } from "hono";
import { mergeMetadata, metadataSchema } from "@sessionplane/shared/fields";
import type { TenantId } from "@sessionplane/shared/ids";
import { NOT_FOUND, type Problem, fieldProblem } from "@sessionplane/shared/problem";
import { type Result, err } from "@sessionplane/shared/result";
import { type PatchTenant, type Tenant, patchTenantSchema, tenantSchema } from "@sessionplane/shared/tenant";
import { connect } from "../../catalog/db.ts";
import { findTenant, updateTenant } from "../../catalog/tenants.ts";
import type { AppEnv } from "../../env.ts";
import { auditOf } from "../../http/audit.ts";
import { forgetKeys } from "../../http/authenticate.ts";
import { STALE, etagOf, ifMatch } from "../../http/etag.ts";
import { keepReply } from "../../http/idempotency.ts";
import { foundOr404, tenantParams } from "../../http/params.ts";
import { type App, json, jsonBody, operatorRoute, reply } from "../../http/routes.ts";
import { planePolicy } from "../../plane-policy.ts";
import { mergeSettings } from "./tenant-settings.ts";

async function patchTenant(c: Context<AppEnv>, id: TenantId, patch: PatchTenant): Promise<Result<Tenant, Problem>> {
  const expected = ifMatch(c);
  if (!expected.ok) return expected;
  const db = connect(c.env.CATALOG);
  const present = await findTenant(db, id);
  if (present === null) return err(NOT_FOUND);
  if (expected.value !== undefined && expected.value !== present.revision) return err(STALE);
  const settings = mergeSettings(present.settings, patch.settings ?? {}, planePolicy(c.env));
  if (!settings.ok) return settings;
  const metadata = metadataSchema.safeParse(mergeMetadata(present.metadata, patch.metadata ?? {}));
  if (!metadata.success) return err(fieldProblem("invalid", "/metadata", metadata.error.issues[0]?.message ?? "too many pairs"));
  const patched = { ...present, name: patch.name ?? present.name, metadata: metadata.data, settings: settings.value };
  const written = await updateTenant(db, id, patched, present.revision, auditOf(c, "tenant.patch", id, id));
  if (!written) return err(STALE);
  forgetKeys();
  return foundOr404(await findTenant(db, id));
}

export const registerPatchTenant = (app: App) =>
  app.openapi(
    operatorRoute("tenants:write", {
      method: "patch",
      path: "/v1/tenants/{tenant_id}",
      summary: "Change a tenant",
      description: "Merges. `If-Match` names the revision to change.",
      tags: ["Tenants"],
      middleware: keepReply(),
      request: { params: tenantParams, body: jsonBody(patchTenantSchema) },
      responses: { 200: json(tenantSchema, "The tenant") },
    }),
    async (c) => {
      const result = await patchTenant(c, c.req.valid("param").tenant_id, c.req.valid("json"));
      return reply(c, result, 200, result.ok ? etagOf(result.value) : {});
    },
  );

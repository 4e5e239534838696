/** A session that both kinds of key may ask about. */
import type { Context } from "hono";
import * as z from "zod";
import { type SessionId, type TenantId, tenantIdSchema } from "@sessionplane/shared/ids";
import { NOT_FOUND, type Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { SessionRpc } from "@sessionplane/shared/rpc/session-rpc";
import { connect } from "../catalog/db.ts";
import { tenantOfSession } from "../catalog/sessions.ts";
import type { AppEnv } from "../env.ts";
import { callObject, callSession } from "../session-client.ts";
import { principalOf } from "./authenticate.ts";
import { scopeOf } from "./tenant-scope.ts";

export const ownerQuery = z.strictObject({
  tenant_id: tenantIdSchema
    .optional()
    .meta({ description: "An operator may leave it out: the catalog knows whose the session is" }),
});

type Owned<T> = { readonly tenantId: TenantId; readonly value: T };

/** One call of it, and whose it is. Not there and another tenant's are one. */
export async function callOwned<T>(
  c: Context<AppEnv>,
  asked: TenantId | undefined,
  id: SessionId,
  call: (session: SessionRpc) => Promise<Result<T, Problem>>,
): Promise<Result<Owned<T>, Problem>> {
  const principal = principalOf(c);
  const scope = scopeOf(principal, asked);
  if (!scope.ok) return scope;
  const tenantId = scope.value === "all_tenants" ? await tenantOfSession(connect(c.env.CATALOG), id) : scope.value;
  if (tenantId === null) return err(NOT_FOUND);
  const result =
    principal.kind === "tenant" ? await callSession(c.env, principal, id, call) : await callObject(c.env, tenantId, id, call);
  return result.ok ? ok({ tenantId, value: result.value }) : result;
}

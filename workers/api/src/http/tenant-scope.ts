/** Whose rows a list or report shows. A tenant's key sees its own, whatever it asks for. Pure. */
import type { TenantId } from "@sessionplane/shared/ids";
import { NOT_FOUND, type Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { TenantScope } from "../catalog/scope.ts";
import type { Principal } from "./principal.ts";

export function scopeOf(principal: Principal, asked: TenantId | undefined): Result<TenantScope, Problem> {
  if (principal.kind === "operator") return ok(asked ?? "all_tenants");
  return asked === undefined || asked === principal.tenantId ? ok(principal.tenantId) : err(NOT_FOUND);
}

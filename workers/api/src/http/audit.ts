/** An audit entry for what this request does. */
import type { Context } from "hono";
import type { TenantId } from "@sessionplane/shared/ids";
import type { AuditEntry } from "../catalog/audit-events.ts";
import type { AppEnv } from "../env.ts";
import { principalOf } from "./authenticate.ts";

export const auditOf = (c: Context<AppEnv>, action: string, target: string, tenantId: TenantId | null): AuditEntry => ({
  tenantId,
  actor: principalOf(c).keyId,
  action,
  target,
  requestId: c.get("requestId"),
});

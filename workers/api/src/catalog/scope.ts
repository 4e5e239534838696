/** Whose rows are read: a tenant's, or, for operators, everyone's. */
import type { TenantId } from "@sessionplane/shared/ids";

export type TenantScope = TenantId | "all_tenants";

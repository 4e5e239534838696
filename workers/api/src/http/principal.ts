/** Who calls: an operator, or an application of one tenant. */
import type { Scope } from "@sessionplane/shared/api-key";
import type { TenantId } from "@sessionplane/shared/ids";
import type { Source } from "@sessionplane/shared/message";
import type { TenantRules } from "@sessionplane/shared/rpc/session-rpc";
import type { TenantSettings } from "@sessionplane/shared/tenant";

export type Principal =
  | { readonly kind: "operator"; readonly keyId: string; readonly scopes: readonly string[] }
  | {
      readonly kind: "tenant";
      readonly keyId: string;
      readonly scopes: readonly string[];
      readonly tenantId: TenantId;
      readonly suspended: boolean;
      readonly settings: TenantSettings;
    };

export type TenantPrincipal = Extract<Principal, { kind: "tenant" }>;

export const hasScope = (principal: Principal, scope: Scope): boolean => principal.scopes.includes(scope);

/** A key may write as server only with that scope; what it asks for can only make it less. */
export const sourceOf = (principal: TenantPrincipal, asked?: Source): Source =>
  hasScope(principal, "sessions:write-as-server") && asked !== "client" ? "server" : "client";

/** The settings that rule a session's writes. */
export const rulesOf = (principal: TenantPrincipal): TenantRules => ({
  client_roles: principal.settings.client_roles,
  reserved_metadata_keys: principal.settings.reserved_metadata_keys,
  compaction: principal.settings.compaction,
});

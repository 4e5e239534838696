/** The worker's bindings, typed, and what a request carries. */
import type { ConnectableSessions } from "@sessionplane/shared/rpc/session-rpc";
import type { TenantSearchNamespace } from "@sessionplane/shared/rpc/tenant-search-rpc";
import type { Principal } from "./http/principal.ts";

export interface ApiEnv extends Omit<Env, "SESSION" | "TENANT_SEARCH"> {
  SESSION: ConnectableSessions;
  TENANT_SEARCH: TenantSearchNamespace;
  /** A secret: the key that makes the first tenants and keys. */
  OPERATOR_KEY?: string;
}

export type AppEnv = {
  Bindings: ApiEnv;
  Variables: {
    requestId: string;
    /** Parts of the time, in milliseconds, for `Server-Timing`. */
    timings: Map<string, number>;
    principal?: Principal;
    /** The JSON body's canonical text, when the request has an idempotency key. */
    canonicalBody?: string;
    /** From the idempotency claim: the id of what the request makes. */
    resourceSeed?: string;
  };
};

/**
 * Authentication and authorisation. A key's principal is cached in the isolate for `KEY_CACHE_MS`: within
 * that time at most, a revoked key or a suspended tenant goes on being accepted elsewhere.
 */
import type { Context, MiddlewareHandler } from "hono";
import { createMiddleware } from "hono/factory";
import { OPERATOR_SCOPES, type Scope } from "@sessionplane/shared/api-key";
import { parseId } from "@sessionplane/shared/ids";
import { NOT_FOUND, type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { findPrincipal, touchKey } from "../catalog/api-keys.ts";
import { recordAudit } from "../catalog/audit-events.ts";
import { connect } from "../catalog/db.ts";
import { findTenant } from "../catalog/tenants.ts";
import type { ApiEnv, AppEnv } from "../env.ts";
import { type Principal, type TenantPrincipal, hasScope } from "./principal.ts";
import { problemReply } from "./problems.ts";
import { timed } from "./request.ts";
import { hashSecret, sameHash } from "./secret.ts";

type Cached = { readonly principal: Principal; readonly until: number };
/** Lives as long as the isolate. Losing it costs a read. */
const cache = new Map<string, Cached>();
const MAX_CACHED_KEYS = 10_000;

/** The key that made the plane has every operator scope and no row. */
const ROOT_KEY_ID = "root";

const KEY_SHAPE = /^Bearer +((?:spo_|sp_live_|sp_test_)[\w-]{20,100})$/;

/** Forgets what this isolate knows of a key, so that a revocation made here holds here at once. */
export const forgetKeys = (): void => cache.clear();

async function lookUp(env: ApiEnv, hash: string): Promise<Principal | null> {
  if (env.OPERATOR_KEY && sameHash(hash, await hashSecret(env.OPERATOR_KEY))) {
    return { kind: "operator", keyId: ROOT_KEY_ID, scopes: OPERATOR_SCOPES };
  }
  const now = Date.now();
  const principal = await findPrincipal(connect(env.CATALOG), hash, now);
  if (principal !== null) await touchKey(connect(env.CATALOG), principal.keyId, now);
  return principal;
}

async function identify(c: Context<AppEnv>): Promise<Principal | null> {
  const key = KEY_SHAPE.exec(c.req.header("Authorization") ?? "")?.[1];
  if (key === undefined) return null;
  const hash = await hashSecret(key);
  const known = cache.get(hash);
  if (known !== undefined && known.until > Date.now()) return known.principal;
  cache.delete(hash);
  const principal = await lookUp(c.env, hash);
  if (principal === null) return null;
  if (cache.size >= MAX_CACHED_KEYS) cache.clear();
  cache.set(hash, { principal, until: Date.now() + Number(c.env.KEY_CACHE_MS) });
  return principal;
}

const UNAUTHENTICATED = problem("unauthenticated", "Send a valid key as `Authorization: Bearer <key>`.");

export const missingScope = (scope: Scope): Problem =>
  problem("insufficient_scope", `The key needs the scope ${scope}.`, { fields: { required_scope: scope } });

const refuse = (refusal: Problem) => err(refusal);

/** An operator with `content:read` reads one tenant's content, and leaves a trace of it. */
async function actAsTenant(c: Context<AppEnv>, operator: Principal, scope: Scope): Promise<Result<TenantPrincipal, Problem>> {
  const header = c.req.header("Sessionplane-Tenant");
  if (header === undefined || !scope.endsWith(":read")) {
    return refuse(
      problem(
        "wrong_key_kind",
        "This route takes a tenant's key, or an operator's for reading with the header Sessionplane-Tenant.",
      ),
    );
  }
  if (!hasScope(operator, "content:read")) return refuse(missingScope("content:read"));
  const tenantId = parseId("tenant", header);
  const db = connect(c.env.CATALOG);
  const tenant = tenantId === null ? null : await findTenant(db, tenantId);
  if (tenantId === null || tenant === null) return refuse(NOT_FOUND);
  await recordAudit(db, {
    tenantId,
    actor: operator.keyId,
    action: "content.read",
    target: new URL(c.req.url).pathname,
    requestId: c.get("requestId"),
  });
  return ok({ kind: "tenant", keyId: operator.keyId, scopes: [scope], tenantId, suspended: false, settings: tenant.settings });
}

async function admitTenant(c: Context<AppEnv>, principal: Principal, scope: Scope): Promise<Result<Principal, Problem>> {
  if (principal.kind === "operator") return actAsTenant(c, principal, scope);
  if (principal.suspended) return refuse(problem("tenant_suspended", "The tenant is suspended; nothing was deleted."));
  return hasScope(principal, scope) ? ok(principal) : refuse(missingScope(scope));
}

async function admitOperator(principal: Principal, scope: Scope): Promise<Result<Principal, Problem>> {
  if (principal.kind !== "operator") return refuse(problem("wrong_key_kind", "This route takes an operator's key."));
  return hasScope(principal, scope) ? ok(principal) : refuse(missingScope(scope));
}

type Admission = (c: Context<AppEnv>, principal: Principal) => Promise<Result<Principal, Problem>>;

const admit = (admission: Admission): MiddlewareHandler<AppEnv> =>
  createMiddleware<AppEnv>(async (c, next) => {
    const principal = await timed(c.get("timings"), "auth", () => identify(c));
    if (principal === null) return problemReply(c, UNAUTHENTICATED);
    const admitted = await admission(c, principal);
    if (!admitted.ok) return problemReply(c, admitted.error);
    c.set("principal", admitted.value);
    return next();
  });

export const requireTenant = (scope: Scope) => admit((c, principal) => admitTenant(c, principal, scope));
export const requireOperator = (scope: Scope) => admit((_c, principal) => admitOperator(principal, scope));
/** Each kind of key with a scope of its own. */
export const requireEither = (tenantScope: Scope, operatorScope: Scope) =>
  admit((c, principal) =>
    principal.kind === "operator" ? admitOperator(principal, operatorScope) : admitTenant(c, principal, tenantScope),
  );
export const requireAny = admit(async (_c, principal) => ok(principal));

/** The admitted principal. A route without one of the above is a bug. */
export function principalOf(c: Context<AppEnv>): Principal {
  const principal = c.get("principal");
  if (principal === undefined) throw new Error("the route admits nobody");
  return principal;
}

export function tenantOf(c: Context<AppEnv>): TenantPrincipal {
  const principal = principalOf(c);
  if (principal.kind !== "tenant") throw new Error("the route does not admit a tenant");
  return principal;
}

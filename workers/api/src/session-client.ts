/**
 * The way to a session's object: the only place that names one. Calls are repeated on a new stub when the
 * platform says that it may help; every call below is safe to repeat, or carries an idempotency key.
 */
import { type SessionId, type TenantId, parseId } from "@sessionplane/shared/ids";
import { NOT_FOUND, type Problem } from "@sessionplane/shared/problem";
import type { Result } from "@sessionplane/shared/result";
import type { ConnectQuery, SessionRpc } from "@sessionplane/shared/rpc/session-rpc";
import { connect } from "./catalog/db.ts";
import { findSessionToOpen } from "./catalog/sessions.ts";
import type { ApiEnv } from "./env.ts";
import { Unavailable } from "./http/problems.ts";
import { type TenantPrincipal, rulesOf } from "./http/principal.ts";

const MAX_ATTEMPTS = 3;
const FIRST_BACKOFF_MS = 50;

const stubOf = (env: ApiEnv, tenantId: TenantId, sessionId: SessionId) => env.SESSION.getByName(`${tenantId}:${sessionId}`);

/** A WebSocket to a session that is known to be there, as the reply to who asked for one. Null: it was erased since. */
export async function connectSession(
  env: ApiEnv,
  tenant: TenantPrincipal,
  id: string,
  query: ConnectQuery,
): Promise<Response | null> {
  const sessionId = parseId("session", id);
  if (sessionId === null) throw new Error("only a session that was found can be connected to");
  const url = new URL("https://session/events");
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  const stub = stubOf(env, tenant.tenantId, sessionId);
  const { webSocket } = await stub.fetch(new Request(url, { headers: { Upgrade: "websocket" } }));
  if (webSocket === null) return null;
  // Of our own, since the headers of a fetched one can't be added to.
  return new Response(null, { status: 101, webSocket });
}

/** What the platform marks on errors of its own. An overloaded object must not be asked again. */
const isPlatformError = (error: unknown): boolean =>
  error instanceof Error && ("retryable" in error || "overloaded" in error || "durableObjectReset" in error);
const mayRetry = (error: unknown): boolean =>
  error instanceof Error && !("overloaded" in error && error.overloaded === true) && isPlatformError(error);

/** One call of a session's object, on a new stub an attempt: a stub that failed goes on failing. */
export async function callObject<T>(
  env: ApiEnv,
  tenantId: TenantId,
  sessionId: SessionId,
  call: (session: SessionRpc) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(stubOf(env, tenantId, sessionId));
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || !mayRetry(error)) {
        throw isPlatformError(error) ? new Unavailable("the session's object did not answer", { cause: error }) : error;
      }
      await scheduler.wait(FIRST_BACKOFF_MS * 2 ** attempt * Math.random());
    }
  }
}

/**
 * A call for a tenant's session. When the object says that it holds nothing, the catalog may know better:
 * the request that made the session died between its row and its object. Then it is opened now.
 */
export async function callSession<T>(
  env: ApiEnv,
  tenant: TenantPrincipal,
  id: string,
  call: (session: SessionRpc) => Promise<Result<T, Problem>>,
): Promise<Result<T, Problem>> {
  const sessionId = parseId("session", id);
  if (sessionId === null) return { ok: false, error: NOT_FOUND };
  const result = await callObject(env, tenant.tenantId, sessionId, call);
  if (result.ok || result.error.code !== "not_found") return result;
  const rules = rulesOf(tenant);
  const opened = await callObject(env, tenant.tenantId, sessionId, (session) => session.describe(rules));
  if (opened.ok) return result;
  const unopened = await findSessionToOpen(connect(env.CATALOG), tenant.tenantId, sessionId);
  if (unopened === null) return { ok: false, error: NOT_FOUND };
  const opening = await callObject(env, tenant.tenantId, sessionId, (session) =>
    session.open({ tenant_id: tenant.tenantId, session_id: sessionId, rules, ...unopened }),
  );
  return opening.ok ? callObject(env, tenant.tenantId, sessionId, call) : opening;
}

/**
 * `exact=1`: what the sessions' objects have and the catalog has not yet is applied before a report reads. By the
 * projection's own statements, so that the queue, which brings the same a moment later, changes nothing.
 */
import { type SessionId, type TenantId, parseId } from "@sessionplane/shared/ids";
import { type Problem, problem } from "@sessionplane/shared/problem";
import type { FactBatch } from "@sessionplane/shared/queue/fact";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { type CatalogDb, connect } from "../catalog/db.ts";
import { catalogAsOf, sessionIdsToAsk, tenantOfSession } from "../catalog/sessions.ts";
import type { ApiEnv } from "../env.ts";
import type { TenantScope } from "../catalog/scope.ts";
import { applyFacts, inGroups } from "../projection/consume-facts.ts";
import { callObject } from "../session-client.ts";

/** One invocation may make 1,000 subrequests. */
const MAX_SESSIONS_ASKED = 500;
const ASKED_AT_ONCE = 20;

export type ReportSubject = {
  readonly scope: TenantScope;
  readonly sessionId?: SessionId | undefined;
  readonly userId?: string | undefined;
};

/** `isAll`: nothing that the report could show is elsewhere. */
type ToAsk = { readonly tenantId: TenantId; readonly sessions: readonly SessionId[]; readonly isAll: boolean };

const TOO_MANY = problem(
  "too_many_sessions",
  `Exact reports ask each session, at most ${MAX_SESSIONS_ASKED}. Name a session with session_id, or a user with user_id; an operator names a tenant.`,
  { errors: [{ pointer: "?exact", code: "too_many_sessions", message: `at most ${MAX_SESSIONS_ASKED} sessions are asked` }] },
);

async function oneSession(db: CatalogDb, scope: TenantScope, sessionId: SessionId): Promise<ToAsk | null> {
  const tenantId = scope === "all_tenants" ? await tenantOfSession(db, sessionId) : scope;
  return tenantId === null ? null : { tenantId, sessions: [sessionId], isAll: true };
}

/** A call may name another user than its session does, so a user's sessions alone are asked only where all are too many. */
async function sessionsOf(db: CatalogDb, { scope, sessionId, userId }: ReportSubject): Promise<Result<ToAsk | null, Problem>> {
  if (sessionId !== undefined) return ok(await oneSession(db, scope, sessionId));
  if (scope === "all_tenants") return err(TOO_MANY);
  const attempts = [{ isAll: true }, ...(userId === undefined ? [] : [{ isAll: false, userId }])];
  for (const { isAll, ...of } of attempts) {
    const ids = await sessionIdsToAsk(db, scope, of, MAX_SESSIONS_ASKED + 1);
    const sessions = ids.flatMap((id) => parseId("session", id) ?? []);
    if (ids.length <= MAX_SESSIONS_ASKED) return ok({ tenantId: scope, sessions, isAll });
  }
  return err(TOO_MANY);
}

type Waiting = { readonly sessionId: SessionId; readonly after?: number };
type Answer = { readonly batches: readonly FactBatch[]; readonly rest: readonly Waiting[] };

/** Of a session that was never opened there is nothing. */
async function ask(env: ApiEnv, tenantId: TenantId, { sessionId, ...from }: Waiting): Promise<Answer> {
  const page = await callObject(env, tenantId, sessionId, (session) => session.pendingFacts(from));
  if (!page.ok) return { batches: [], rest: [] };
  const { batches, next } = page.value;
  return { batches, rest: next === null ? [] : [{ sessionId, after: next }] };
}

async function applyPending(env: ApiEnv, { tenantId, sessions }: ToAsk): Promise<void> {
  const waiting: Waiting[] = sessions.map((sessionId) => ({ sessionId }));
  while (waiting.length > 0) {
    const answers = await Promise.all(waiting.splice(0, ASKED_AT_ONCE).map((one) => ask(env, tenantId, one)));
    const batches = answers.flatMap((answer) => answer.batches);
    for (const group of inGroups(batches, (batch) => batch)) await applyFacts(env.CATALOG, group);
    waiting.push(...answers.flatMap(({ rest }) => rest));
  }
}

/** Brings in what is missing. The moment up to which everything is there, which is before the asking began. */
async function bringIn(env: ApiEnv, subject: ReportSubject): Promise<Result<string | null, Problem>> {
  const db = connect(env.CATALOG);
  const began = new Date().toISOString();
  const toAsk = await sessionsOf(db, subject);
  if (!toAsk.ok) return toAsk;
  const asOf = toAsk.value?.isAll === false ? await catalogAsOf(db, subject.scope) : began;
  if (toAsk.value !== null) await applyPending(env, toAsk.value);
  return ok(asOf);
}

/** As of when a report of the catalog is: exact when that is asked for. First: what is applied in between is in the rows. */
export const reportAsOf = async (env: ApiEnv, subject: ReportSubject, exact: boolean): Promise<Result<string | null, Problem>> =>
  exact ? bringIn(env, subject) : ok(await catalogAsOf(connect(env.CATALOG), subject.scope));

/** `POST /v1/sessions` and `PUT /v1/sessions/by-external-id/{x}`: the catalog's row, then the object. */
import type { Context } from "hono";
import * as z from "zod";
import { externalIdSchema } from "@sessionplane/shared/fields";
import type { SessionId } from "@sessionplane/shared/ids";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err } from "@sessionplane/shared/result";
import {
  type CreateSession,
  type Session,
  type SessionSettings,
  createSessionSchema,
  sessionSchema,
} from "@sessionplane/shared/session";
import { checkNewBlocks } from "@sessionplane/engine/context/new-blocks";
import { connect } from "../../catalog/db.ts";
import { findSessionIdByExternalId, findSessionToOpen, insertSession } from "../../catalog/sessions.ts";
import type { AppEnv } from "../../env.ts";
import { missingScope, tenantOf } from "../../http/authenticate.ts";
import { etagOf } from "../../http/etag.ts";
import { keepReply, resourceId } from "../../http/idempotency.ts";
import { type TenantPrincipal, rulesOf, sourceOf } from "../../http/principal.ts";
import { type App, json, jsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { callObject, callSession } from "../../session-client.ts";
import { policyContradiction } from "../../session-policy.ts";

const settingsOf = (input: CreateSession, tenant: TenantPrincipal): SessionSettings => ({
  name: input.name ?? null,
  external_id: input.external_id ?? null,
  user_id: input.user_id ?? null,
  model: input.model ?? tenant.settings.default_model,
  source: input.source ?? null,
  metadata: input.metadata ?? {},
  tags: input.tags ?? [],
  parent_session_id: input.parent_session_id ?? null,
  compaction: input.compaction ?? {},
});

async function parentExists(c: Context<AppEnv>, tenant: TenantPrincipal, parentId: SessionId): Promise<boolean> {
  return (await findSessionToOpen(connect(c.env.CATALOG), tenant.tenantId, parentId)) !== null;
}

async function createSession(c: Context<AppEnv>, input: CreateSession): Promise<Result<Session, Problem>> {
  const tenant = tenantOf(c);
  const settings = settingsOf(input, tenant);
  const contradiction = policyContradiction(settings.compaction, tenant);
  if (contradiction !== null) return err(contradiction);
  if (input.parent_session_id !== undefined && !(await parentExists(c, tenant, input.parent_session_id))) {
    return err(fieldProblem("invalid", "/parent_session_id", "is not a session of this tenant"));
  }
  const { blocks = [] } = input;
  // As writing a block alone does: what is in one stands in the prompt.
  if (blocks.length > 0 && sourceOf(tenant) === "client") return err(missingScope("sessions:write-as-server"));
  const misfit = checkNewBlocks(blocks);
  if (misfit !== null) return err(misfit);
  const db = connect(c.env.CATALOG);
  const id = resourceId(c, "session");
  const begun = { settings, created_at: Date.now(), blocks };
  const inserted = await insertSession(db, tenant.tenantId, id, begun);
  // Not inserted: this very request made the row before, or another session has the external id.
  const row = inserted ? begun : await findSessionToOpen(db, tenant.tenantId, id);
  if (row === null) return err(EXTERNAL_ID_TAKEN);
  const open = { tenant_id: tenant.tenantId, session_id: id, rules: rulesOf(tenant), ...row };
  return callObject(c.env, tenant.tenantId, id, (session) => session.open(open));
}

const EXTERNAL_ID_TAKEN = problem("already_exists", "Another session of the tenant has this external id.", {
  errors: [{ pointer: "/external_id", code: "already_exists", message: "another session has it" }],
});

export const registerCreateSession = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "post",
      path: "/v1/sessions",
      summary: "Create a session",
      tags: ["Sessions"],
      middleware: keepReply(),
      request: { body: jsonBody(createSessionSchema) },
      responses: { 201: json(sessionSchema, "The session") },
    }),
    async (c) => {
      const result = await createSession(c, c.req.valid("json"));
      return reply(c, result, 201, result.ok ? etagOf(result.value) : {});
    },
  );

/** The session with this external id, exact, from its object. */
async function findByExternalId(c: Context<AppEnv>, externalId: string): Promise<Result<Session, Problem> | null> {
  const tenant = tenantOf(c);
  const id = await findSessionIdByExternalId(connect(c.env.CATALOG), tenant.tenantId, externalId);
  return id === null ? null : callSession(c.env, tenant, id, (session) => session.describe(rulesOf(tenant)));
}

export const registerPutSession = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "put",
      path: "/v1/sessions/by-external-id/{external_id}",
      summary: "Create a session, or return the one with this external id",
      tags: ["Sessions"],
      request: {
        params: z.object({ external_id: externalIdSchema }),
        body: jsonBody(createSessionSchema.omit({ external_id: true })),
      },
      responses: { 200: json(sessionSchema, "It was there"), 201: json(sessionSchema, "It was made") },
    }),
    async (c) => {
      const externalId = c.req.valid("param").external_id;
      const existing = await findByExternalId(c, externalId);
      if (existing !== null) return reply(c, existing, 200, existing.ok ? etagOf(existing.value) : {});
      const created = await createSession(c, { ...c.req.valid("json"), external_id: externalId });
      // Two at once: the other one made it in between.
      const made = created.ok || created.error.code !== "already_exists" ? null : await findByExternalId(c, externalId);
      if (made !== null) return reply(c, made, 200, made.ok ? etagOf(made.value) : {});
      return reply(c, created, 201, created.ok ? etagOf(created.value) : {});
    },
  );

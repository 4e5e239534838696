/** `GET /v1/sessions`: from the catalog, seconds behind; `exact=1` asks each object. */
import * as z from "zod";
import { externalIdSchema, userIdSchema } from "@sessionplane/shared/fields";
import { sessionIdSchema } from "@sessionplane/shared/ids";
import { pageOf } from "@sessionplane/shared/page";
import { ok } from "@sessionplane/shared/result";
import { type Session, sessionSchema, sessionStatusSchema } from "@sessionplane/shared/session";
import { connect } from "../../catalog/db.ts";
import { type SessionFilter, catalogAsOf, listSessions } from "../../catalog/sessions.ts";
import type { ApiEnv } from "../../env.ts";
import { tenantOf } from "../../http/authenticate.ts";
import { boundsOf, flagSchema, instantBounds, now, pageFrom, pageQuery } from "../../http/list-query.ts";
import { type TenantPrincipal, rulesOf } from "../../http/principal.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";

const METADATA_PARAMETER = /^metadata\[(.{1,64})\]$/su;

const named = {
  ...pageQuery,
  ...instantBounds("created_at"),
  ...instantBounds("updated_at"),
  sort: z.enum(["created_at", "updated_at"]).default("created_at"),
  status: sessionStatusSchema.optional(),
  user_id: userIdSchema.optional(),
  model: z.string().max(200).optional(),
  source: z.string().max(64).optional(),
  tag: z.string().max(64).optional(),
  parent_session_id: sessionIdSchema.optional(),
  external_id: externalIdSchema.optional(),
  q: z.string().min(1).max(200).optional(),
  exact: flagSchema,
  "metadata[key]": z.string().max(512).optional(),
};

/** The named parameters, and `metadata[key]=value` for any key. */
const query = z
  .object(named)
  .catchall(z.string().max(512))
  .superRefine((parameters, ctx) => {
    const unknown = Object.keys(parameters).filter((name) => !(name in named) && !METADATA_PARAMETER.test(name));
    if (unknown.length > 0) ctx.addIssue({ code: "unrecognized_keys", keys: unknown, input: parameters });
  });
type Query = z.output<typeof query>;

function metadataPairs(parameters: Query): (readonly [string, string])[] {
  return Object.entries(parameters).flatMap(([name, value]) => {
    const key = METADATA_PARAMETER.exec(name)?.[1];
    return key === undefined || typeof value !== "string" ? [] : [[key, value] as const];
  });
}

const filterOf = (parameters: Query): SessionFilter => ({
  limit: parameters.limit,
  order: parameters.order,
  sort: parameters.sort,
  createdAt: boundsOf(parameters, "created_at"),
  updatedAt: boundsOf(parameters, "updated_at"),
  metadata: metadataPairs(parameters),
  cursor: parameters.cursor,
  status: parameters.status,
  userId: parameters.user_id,
  model: parameters.model,
  source: parameters.source,
  tag: parameters.tag,
  parentSessionId: parameters.parent_session_id,
  externalId: parameters.external_id,
  q: parameters.q,
});

/** None when it was erased since. */
const refresh = async (env: ApiEnv, tenant: TenantPrincipal, row: Session): Promise<Session[]> => {
  const result = await callSession(env, tenant, row.id, (session) => session.describe(rulesOf(tenant)));
  if (result.ok) return [result.value];
  return result.error.code === "erased" ? [] : [row];
};

export const registerListSessions = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions",
      summary: "List sessions",
      description:
        "`metadata[key]=value` filters by metadata. `as_of` says how fresh the list is; `exact=1` asks the sessions themselves.",
      tags: ["Sessions"],
      request: { query },
      responses: { 200: json(pageOf(sessionSchema), "A page, newest first") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const parameters = c.req.valid("query");
      const db = connect(c.env.CATALOG);
      const rows = await listSessions(db, tenant.tenantId, tenant.settings.compaction, filterOf(parameters));
      const asOf = parameters.exact ? now() : await catalogAsOf(db, tenant.tenantId);
      const byInstant = (row: Session) => Date.parse(parameters.sort === "updated_at" ? row.updated_at : row.created_at);
      const page = pageFrom(rows, parameters.limit, (row) => [byInstant(row), row.id], asOf);
      if (!parameters.exact) return reply(c, ok(page));
      const fresh = await Promise.all(page.data.map((row) => refresh(c.env, tenant, row)));
      return reply(c, ok({ ...page, data: fresh.flat() }));
    },
  );

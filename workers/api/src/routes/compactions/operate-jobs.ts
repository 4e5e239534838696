/** Jobs of any session, by operators: cancelled, tried again one by one or all that ended in a state. */
import type { Context } from "hono";
import * as z from "zod";
import { type CompactionJob, compactionJobSchema } from "@sessionplane/shared/compaction-job";
import { type SessionId, type TenantId, jobIdSchema, parseId, tenantIdSchema } from "@sessionplane/shared/ids";
import { NOT_FOUND, type Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { Idempotency, SessionRpc, Written } from "@sessionplane/shared/rpc/session-rpc";
import { recordAudit } from "../../catalog/audit-events.ts";
import { type TenantJob, findJobOwner, listJobs } from "../../catalog/compaction-jobs.ts";
import { connect } from "../../catalog/db.ts";
import type { AppEnv } from "../../env.ts";
import { auditOf } from "../../http/audit.ts";
import { instantCursorSchema } from "../../http/cursor.ts";
import { idempotencyOrRequest } from "../../http/idempotency.ts";
import { pageFrom } from "../../http/list-query.ts";
import { Unavailable } from "../../http/problems.ts";
import { type App, json, jsonBody, operatorRoute, reply } from "../../http/routes.ts";
import { replyWritten } from "../../http/written.ts";
import { callObject } from "../../session-client.ts";

const MAX_REDRIVEN = 100;
/** Objects that are called at once. */
const AT_ONCE = 10;
const jobParams = z.object({ job_id: jobIdSchema });

type Owner = { readonly tenantId: TenantId; readonly sessionId: SessionId };
type Change = (session: SessionRpc) => Promise<Result<Written<CompactionJob>, Problem>>;

function ownerOf(tenant: string, session: string): Owner | null {
  const [tenantId, sessionId] = [parseId("tenant", tenant), parseId("session", session)];
  return tenantId === null || sessionId === null ? null : { tenantId, sessionId };
}

/** The change where the job is, with a trace of who made it. */
async function changeAt(c: Context<AppEnv>, { tenantId, sessionId }: Owner, jobId: string, action: string, change: Change) {
  const changed = await callObject(c.env, tenantId, sessionId, change);
  if (changed.ok) await recordAudit(connect(c.env.CATALOG), auditOf(c, action, jobId, tenantId));
  return changed;
}

async function changeJob(c: Context<AppEnv>, jobId: string, action: string, change: Change) {
  const row = await findJobOwner(connect(c.env.CATALOG), jobId);
  const owner = row === null ? null : ownerOf(row.tenantId, row.sessionId);
  return owner === null ? err(NOT_FOUND) : changeAt(c, owner, jobId, action, change);
}

export const registerOperatorRetryJob = (app: App) =>
  app.openapi(
    operatorRoute("operations:write", {
      method: "post",
      path: "/v1/compaction-jobs/{job_id}/retry",
      summary: "Try a compaction job again",
      description: "One that failed, was rejected or cancelled, of any tenant.",
      tags: ["Compactions"],
      request: { params: jobParams },
      responses: { 202: json(compactionJobSchema, "The job, queued") },
    }),
    async (c) => {
      const id = c.req.valid("param").job_id;
      const idempotency = await idempotencyOrRequest(c);
      return replyWritten(
        c,
        await changeJob(c, id, "job.retry", (session) => session.retryJob({ job_id: id, idempotency })),
        202,
      );
    },
  );

export const registerOperatorCancelJob = (app: App) =>
  app.openapi(
    operatorRoute("operations:write", {
      method: "post",
      path: "/v1/compaction-jobs/{job_id}/cancel",
      summary: "Cancel a compaction job",
      tags: ["Compactions"],
      request: { params: jobParams },
      responses: { 200: json(compactionJobSchema, "The job, cancelled") },
    }),
    async (c) => {
      const id = c.req.valid("param").job_id;
      const idempotency = await idempotencyOrRequest(c);
      return replyWritten(
        c,
        await changeJob(c, id, "job.cancel", (session) => session.cancelJob({ job_id: id, idempotency })),
        200,
      );
    },
  );

const redriveSchema = z
  .strictObject({
    status: z.enum(["failed", "rejected"]),
    tenant_id: tenantIdSchema.optional(),
    limit: z.int().min(1).max(MAX_REDRIVEN).optional(),
    cursor: instantCursorSchema.optional().meta({ description: "Where the call before ended" }),
  })
  .meta({ id: "RedriveJobs" });

const redrivenSchema = z
  .object({
    results: z.array(
      z.object({
        job_id: z.string(),
        session_id: z.string(),
        redriven: z.boolean(),
        code: z.string().nullable().meta({ description: "Why it was not" }),
      }),
    ),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: "RedrivenJobs" });

type Redriven = z.input<typeof redrivenSchema>["results"][number];

/** One that can't be reached is told of, and keeps no other from its turn. */
async function redrive(c: Context<AppEnv>, job: TenantJob, { key, fingerprint }: Idempotency): Promise<Redriven> {
  const { id, tenant_id: tenantId, session_id: sessionId } = job;
  const told = (code: string | null): Redriven => ({ job_id: id, session_id: sessionId, redriven: code === null, code });
  const owner = ownerOf(tenantId, sessionId);
  if (owner === null) return told("not_found");
  const input = { job_id: id, idempotency: { key: `${key}:${id}`, fingerprint } };
  try {
    const changed = await changeAt(c, owner, id, "job.redrive", (session) => session.retryJob(input));
    return told(changed.ok ? null : changed.error.code);
  } catch (error) {
    if (error instanceof Unavailable) return told("unavailable");
    throw error;
  }
}

export const registerRedriveJobs = (app: App) =>
  app.openapi(
    operatorRoute("operations:write", {
      method: "post",
      path: "/v1/compaction-jobs/redrive",
      summary: "Try every failed job again",
      description:
        "The oldest first, at most 100 a call: call again with `next_cursor` while `has_more` is true. A session has one open job, " +
        "and a range that has changed since is not tried; each result says what became of its job.",
      tags: ["Compactions"],
      request: { body: jsonBody(redriveSchema) },
      responses: { 200: json(redrivenSchema, "What became of each") },
    }),
    async (c) => {
      const { status, tenant_id: tenant, limit = MAX_REDRIVEN, cursor } = c.req.valid("json");
      const filter = { state: status, limit, cursor, order: "asc" as const, createdAt: {} };
      const rows = await listJobs(connect(c.env.CATALOG), tenant ?? "all_tenants", filter);
      const page = pageFrom(rows, limit, (job) => [Date.parse(job.created_at), job.id], null);
      const idempotency = await idempotencyOrRequest(c);
      const results: z.input<typeof redrivenSchema>["results"] = [];
      for (let at = 0; at < page.data.length; at += AT_ONCE)
        results.push(...(await Promise.all(page.data.slice(at, at + AT_ONCE).map((job) => redrive(c, job, idempotency)))));
      return reply(c, ok({ results, has_more: page.has_more, next_cursor: page.next_cursor }));
    },
  );

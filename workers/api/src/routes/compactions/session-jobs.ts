/** A session's jobs: listed, looked at, cancelled, and tried again when they failed. */
import { compactionJobSchema } from "@sessionplane/shared/compaction-job";
import { jobIdSchema } from "@sessionplane/shared/ids";
import { pageOf } from "@sessionplane/shared/page";
import { ok } from "@sessionplane/shared/result";
import { tenantOf } from "../../http/authenticate.ts";
import { idempotencyOrRequest } from "../../http/idempotency.ts";
import { sessionParams } from "../../http/params.ts";
import { type App, json, reply, tenantRoute } from "../../http/routes.ts";
import { pageOfSeq, seqPageQuery, seqQueryOf } from "../../http/seq-page.ts";
import { replyWritten } from "../../http/written.ts";
import { callSession } from "../../session-client.ts";

const jobParams = sessionParams.extend({ job_id: jobIdSchema });

export const registerListSessionJobs = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/compaction-jobs",
      summary: "List a session's compaction jobs",
      tags: ["Compactions"],
      request: { params: sessionParams, query: seqPageQuery },
      responses: { 200: json(pageOf(compactionJobSchema), "A page, newest first") },
    }),
    async (c) => {
      const query = seqQueryOf(c.req.valid("query"));
      const result = await callSession(c.env, tenantOf(c), c.req.valid("param").session_id, (session) => session.listJobs(query));
      return reply(c, result.ok ? ok(pageOfSeq(result.value)) : result);
    },
  );

export const registerGetJob = (app: App) =>
  app.openapi(
    tenantRoute("sessions:read", {
      method: "get",
      path: "/v1/sessions/{session_id}/compaction-jobs/{job_id}",
      summary: "Get a compaction job",
      tags: ["Compactions"],
      request: { params: jobParams },
      responses: { 200: json(compactionJobSchema, "The job") },
    }),
    async (c) => {
      const { session_id: sessionId, job_id: jobId } = c.req.valid("param");
      return reply(c, await callSession(c.env, tenantOf(c), sessionId, (session) => session.getJob(jobId)));
    },
  );

export const registerCancelJob = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "post",
      path: "/v1/sessions/{session_id}/compaction-jobs/{job_id}/cancel",
      summary: "Cancel a compaction job",
      tags: ["Compactions"],
      request: { params: jobParams },
      responses: { 200: json(compactionJobSchema, "The job, cancelled") },
    }),
    async (c) => {
      const { session_id: sessionId, job_id: jobId } = c.req.valid("param");
      const idempotency = await idempotencyOrRequest(c);
      const result = await callSession(c.env, tenantOf(c), sessionId, (session) =>
        session.cancelJob({ job_id: jobId, idempotency }),
      );
      return replyWritten(c, result, 200);
    },
  );

export const registerRetryJob = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "post",
      path: "/v1/sessions/{session_id}/compaction-jobs/{job_id}/retry",
      summary: "Try a compaction job again",
      description: "One that failed, was rejected or cancelled. It also ends a suspension.",
      tags: ["Compactions"],
      request: { params: jobParams },
      responses: { 202: json(compactionJobSchema, "The job, queued") },
    }),
    async (c) => {
      const { session_id: sessionId, job_id: jobId } = c.req.valid("param");
      const idempotency = await idempotencyOrRequest(c);
      const result = await callSession(c.env, tenantOf(c), sessionId, (session) =>
        session.retryJob({ job_id: jobId, idempotency }),
      );
      return replyWritten(c, result, 202);
    },
  );

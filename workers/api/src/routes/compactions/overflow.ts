/**
 * `POST /v1/sessions/{session_id}/overflow`: a model has said that its input is too long. Compacts now and gives
 * the history as it is then, or says why it can't. One job a call, and each job shortens the history: whoever
 * calls again and again comes to an end.
 */
import type { Context } from "hono";
import * as z from "zod";
import { type CompactionJob, OPEN_JOB_STATES, compactionJobSchema } from "@sessionplane/shared/compaction-job";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { RequestCompaction } from "@sessionplane/shared/rpc/compaction-rpc";
import type { HistoryPage, Written } from "@sessionplane/shared/rpc/session-rpc";
import type { AppEnv } from "../../env.ts";
import { tenantOf } from "../../http/authenticate.ts";
import { idempotencyOrRequest } from "../../http/idempotency.ts";
import { sessionParams } from "../../http/params.ts";
import { rulesOf } from "../../http/principal.ts";
import { type App, json, optionalJsonBody, reply, tenantRoute } from "../../http/routes.ts";
import { callSession } from "../../session-client.ts";
import { historyJson, historySchema } from "../messages/read-history.ts";

const DEFAULT_DEADLINE_MS = 25_000;
const MAX_DEADLINE_MS = 60_000;
const FIRST_POLL_MS = 100;
const MAX_POLL_MS = 1_000;
const MAX_MESSAGES = 1_000;

const overflowSchema = z
  .strictObject({
    leaf_id: z.string().min(1).max(128).optional(),
    error: z.string().max(10_000).optional().meta({ description: "What the model's server said. Not kept" }),
    deadline_ms: z.int().min(1_000).max(MAX_DEADLINE_MS).optional(),
  })
  .meta({ id: "Overflow" });

const overflowReplySchema = z
  .object({
    job: compactionJobSchema,
    history: historySchema,
  })
  .meta({ id: "OverflowReply" });

const isOpen = ({ state }: CompactionJob): boolean => OPEN_JOB_STATES.includes(state);

type Waiting = { readonly id: string; readonly deadline: number };

/** The job when it has ended, or as it is at the deadline. */
async function ended(c: Context<AppEnv>, { id, deadline }: Waiting, jobId: string): Promise<Result<CompactionJob, Problem>> {
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(MAX_POLL_MS, pause * 2)) {
    const job = await callSession(c.env, tenantOf(c), id, (session) => session.getJob(jobId));
    if (!job.ok || !isOpen(job.value) || Date.now() + pause >= deadline) return job;
    await scheduler.wait(pause);
  }
}

function whyNot(job: CompactionJob): Problem {
  const fields = { job_id: job.id, state: job.state };
  if (isOpen(job)) return problem("compaction_unfinished", "The summary is still being written.", { fields });
  const why = `The job is ${job.state}: ${job.error?.detail ?? "no reason was given"}.`;
  return problem("compaction_failed", why, { fields });
}

/** What was asked for, done. A job whose range changed under it gives way to the one that is planned in its place. */
async function compacted(
  c: Context<AppEnv>,
  waiting: Waiting,
  request: RequestCompaction,
): Promise<Result<Written<CompactionJob>, Problem>> {
  const asked = await callSession(c.env, tenantOf(c), waiting.id, (session) => session.requestCompaction(request));
  if (!asked.ok) return asked;
  const { value, replayed } = asked.value;
  let job = await ended(c, waiting, value.id);
  while (job.ok && job.value.replaced_by_job_id !== null) job = await ended(c, waiting, job.value.replaced_by_job_id);
  if (!job.ok) return job;
  return job.value.state === "applied" ? ok({ value: job.value, replayed }) : err(whyNot(job.value));
}

/** Stored messages are JSON already: joined, not parsed. */
const overflowJson = (id: string, job: CompactionJob, page: HistoryPage): string =>
  `{"job":${JSON.stringify(job)},"history":${historyJson(id, page)}}`;

export const registerOverflow = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "post",
      path: "/v1/sessions/{session_id}/overflow",
      summary: "Compact after an overflow",
      description:
        "For the moment at which a model's server says that its input is too long. Waits for the summary up to `deadline_ms` " +
        "and answers with the history to go on with. When the tail that the policy keeps leaves nothing to summarise, less of it " +
        "is kept. 422 `nothing_to_compact` when nothing is left to take; 409 `job_open` while a job of another branch is open, 409 `compaction_failed` when no summary could be made; 503 `compaction_unfinished` when there is none in time.",
      tags: ["Compactions"],
      request: { params: sessionParams, body: optionalJsonBody(overflowSchema) },
      responses: { 200: json(overflowReplySchema, "The job, and the history as it is now") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const id = c.req.valid("param").session_id;
      const { leaf_id: leafId, deadline_ms: patience = DEFAULT_DEADLINE_MS } = c.req.valid("json");
      const leaf = leafId === undefined ? {} : { leaf_id: leafId };
      const request = { rules: rulesOf(tenant), overflow: true, idempotency: await idempotencyOrRequest(c), ...leaf };
      const written = await compacted(c, { id, deadline: Date.now() + patience }, request);
      if (!written.ok) return reply(c, written);
      const query = { view: "history", order: "asc", limit: MAX_MESSAGES, ...leaf } as const;
      const page = await callSession(c.env, tenant, id, (session) => session.readHistory(query));
      if (!page.ok) return reply(c, page);
      const { value: job, replayed } = written.value;
      const headers = { "Content-Type": "application/json", ...(replayed ? { "Idempotent-Replayed": "true" } : {}) };
      return c.body(overflowJson(id, job, page.value), 200, headers);
    },
  );

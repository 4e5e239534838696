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
import type { HistoryPage } from "@sessionplane/shared/rpc/session-rpc";
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
    error: z
      .string()
      .max(10_000)
      .optional()
      .meta({ description: "What the model's server said, for the log of whoever reads it" }),
    deadline_ms: z.int().min(1_000).max(MAX_DEADLINE_MS).optional(),
  })
  .meta({ id: "Overflow" });

const overflowReplySchema = z
  .object({
    job: compactionJobSchema,
    token_estimate: z.int().meta({ description: "Of the history" }),
    history: historySchema,
  })
  .meta({ id: "OverflowReply" });

const isOpen = ({ state }: CompactionJob): boolean => OPEN_JOB_STATES.includes(state);

/** The job when it has ended, or as it is at the deadline. */
async function ended(
  c: Context<AppEnv>,
  id: string,
  job: CompactionJob,
  deadline: number,
): Promise<Result<CompactionJob, Problem>> {
  let present = job;
  for (let pause = FIRST_POLL_MS; isOpen(present) && Date.now() + pause < deadline; pause = Math.min(MAX_POLL_MS, pause * 2)) {
    await scheduler.wait(pause);
    const read = await callSession(c.env, tenantOf(c), id, (session) => session.getJob(job.id));
    if (!read.ok) return read;
    present = read.value;
  }
  return ok(present);
}

function whyNot(job: CompactionJob): Problem {
  const fields = { job_id: job.id, state: job.state };
  const why = isOpen(job)
    ? "The summary is still being written."
    : `The job is ${job.state}: ${job.error?.detail ?? "no reason was given"}.`;
  return problem("compaction_unfinished", why, { fields });
}

async function compacted(
  c: Context<AppEnv>,
  id: string,
  input: z.output<typeof overflowSchema>,
): Promise<Result<CompactionJob, Problem>> {
  const tenant = tenantOf(c);
  const deadline = Date.now() + (input.deadline_ms ?? DEFAULT_DEADLINE_MS);
  const request = {
    rules: rulesOf(tenant),
    overflow: true,
    idempotency: await idempotencyOrRequest(c),
    ...(input.leaf_id === undefined ? {} : { leaf_id: input.leaf_id }),
  };
  const requested = await callSession(c.env, tenant, id, (session) => session.requestCompaction(request));
  if (!requested.ok) return requested;
  const job = await ended(c, id, requested.value.value, deadline);
  if (!job.ok) return job;
  return job.value.state === "applied" ? job : err(whyNot(job.value));
}

const tokensOf = ({ items }: HistoryPage): number => items.reduce((sum, { meta }) => sum + meta.token_estimate, 0);

/** Stored messages are JSON already: joined, not parsed. */
function overflowJson(id: string, job: CompactionJob, tokens: number, page: HistoryPage): string {
  return `{"job":${JSON.stringify(job)},"token_estimate":${tokens},"history":${historyJson(id, page)}}`;
}

export const registerOverflow = (app: App) =>
  app.openapi(
    tenantRoute("sessions:write", {
      method: "post",
      path: "/v1/sessions/{session_id}/overflow",
      summary: "Compact after an overflow",
      description:
        "For the moment at which a model's server says that its input is too long. Waits for the summary up to `deadline_ms` " +
        "and answers with the history to go on with. When the tail that the policy keeps leaves nothing to summarise, less of it " +
        "is kept. 422 `nothing_to_compact` when nothing is left to take; 409 `job_open` while a job of another branch is open; 503 `compaction_unfinished` when there is no summary in time.",
      tags: ["Compactions"],
      request: { params: sessionParams, body: optionalJsonBody(overflowSchema) },
      responses: { 200: json(overflowReplySchema, "The job, and the history as it is now") },
    }),
    async (c) => {
      const tenant = tenantOf(c);
      const id = c.req.valid("param").session_id;
      const input = c.req.valid("json");
      const job = await compacted(c, id, input);
      if (!job.ok) return reply(c, job);
      const leaf = input.leaf_id === undefined ? {} : { leaf_id: input.leaf_id };
      const query = { view: "history", order: "asc", limit: MAX_MESSAGES, ...leaf } as const;
      const page = await callSession(c.env, tenant, id, (session) => session.readHistory(query));
      if (!page.ok) return reply(c, page);
      const described = await callSession(c.env, tenant, id, (session) => session.describe(rulesOf(tenant)));
      if (!described.ok) return reply(c, described);
      const { token_estimate: active } = described.value;
      // The session's own estimate is of its active leaf.
      const tokens = input.leaf_id === undefined ? active : tokensOf(page.value);
      const body = overflowJson(id, job.value, tokens, page.value);
      return c.body(body, 200, { "Content-Type": "application/json" });
    },
  );

/** Jobs through queue, object and a model that takes no time, against messages through a queue whose consumer only counts. */
import { setTimeout as pause } from "node:timers/promises";
import type { Call } from "../../scripts/demo/client.ts";
import { type Comparison, alternate, ofRates } from "../measure.ts";
import { type Job, type Plane, SERVED_MODEL } from "./plane.ts";

const REPETITIONS = 5;
const SESSIONS = 40;
const MESSAGES = 60;
/** Both sides are asked for their end so often. */
const POLL_MS = 5;
const OPEN = new Set(["queued", "running"]);

async function ended(call: Call, session: string, id: string): Promise<void> {
  for (;;) {
    const { state, error } = await call<Job>("GET", `/v1/sessions/${session}/compaction-jobs/${id}`);
    if (state === "applied") return;
    if (!OPEN.has(state)) throw new Error(`the job is ${state}: ${JSON.stringify(error)}`);
    await pause(POLL_MS);
  }
}

async function withModel(plane: Plane, name: string, model: string, what: string): Promise<Comparison> {
  const call = await plane.tenant(model);
  let sessions: string[] = [];
  const [oursMs = 0, bareMs = 0] = await alternate(REPETITIONS, [
    {
      async before() {
        sessions = [];
        for (let index = 0; index < SESSIONS; index++) sessions.push(await plane.session(call, MESSAGES));
      },
      async work() {
        const asked = await Promise.all(
          sessions.map(async (session) => ({ session, job: await call<Job>("POST", `/v1/sessions/${session}/compactions`, {}) })),
        );
        for (const { session, job } of asked) await ended(call, session, job.id);
      },
    },
    { work: () => plane.throughQueue(SESSIONS, POLL_MS) },
  ]);
  const rates = ofRates({ ms: oursMs, amount: SESSIONS }, { ms: bareMs, amount: SESSIONS });
  const size =
    `${SESSIONS} jobs of ${MESSAGES} messages each on ${what}, from the request, and as many messages of a bare queue; ` +
    `${rates.ours_per_s.toFixed(0)} jobs/s and ${rates.baseline_per_s.toFixed(0)} messages/s`;
  return { name, ...rates, size, repetitions: REPETITIONS };
}

export async function jobs(plane: Plane): Promise<Comparison[]> {
  return [
    await withModel(plane, "jobs_vs_bare_queue", SERVED_MODEL, "a model over HTTP that answers at once"),
    await withModel(plane, "jobs_builtin_vs_bare_queue", "builtin/extractive", "the built-in model"),
  ];
}

/**
 * Appends to a session over HTTP while a compaction of it runs, from the request of the job to its end,
 * against as many appends to the same session without one, half of them before the job. The medians are of all appends.
 */
import type { Call } from "../../scripts/demo/client.ts";
import { grouped } from "../engine/sizes.ts";
import { type Comparison, median, quantile } from "../measure.ts";
import { type Job, type Plane, SERVED_MODEL, message } from "./plane.ts";

const ROUNDS = 5;
/** Two calls of the model. */
const MESSAGES = 1_000;
const MODEL_MS = 1_500;
const WARM_UP_APPENDS = 50;

type Appended = { readonly compaction_job_id: string | null };

async function appendOnce(call: Call, session: string, id: string): Promise<{ ms: number; isCompacting: boolean }> {
  const started = performance.now();
  const { compaction_job_id: job } = await call<Appended>("POST", `/v1/sessions/${session}/messages`, {
    message: message(id, 1),
  });
  return { ms: performance.now() - started, isCompacting: job !== null };
}

/** One round: appends until a job has ended, and as many without one, `before` of them before it and the others after it. */
async function round(plane: Plane, call: Call, before: number): Promise<{ during: number[]; alone: number[] }> {
  const session = await plane.session(call, MESSAGES);
  for (let index = 0; index < WARM_UP_APPENDS; index++) await appendOnce(call, session, `w${index}`);
  const during: number[] = [];
  const alone: number[] = [];
  const rest = async (count: number) => {
    while (alone.length < count) alone.push((await appendOnce(call, session, `a${alone.length}`)).ms);
  };
  await rest(before);
  const job = await call<Job>("POST", `/v1/sessions/${session}/compactions`, {});
  for (let isCompacting = true; isCompacting;) {
    const append = await appendOnce(call, session, `d${during.length}`);
    during.push(append.ms);
    ({ isCompacting } = append);
  }
  const { state, error } = await call<Job>("GET", `/v1/sessions/${session}/compaction-jobs/${job.id}`);
  if (state !== "applied") throw new Error(`the job is ${state}: ${JSON.stringify(error)}`);
  await rest(during.length);
  return { during, alone };
}

export async function appendDuring(plane: Plane): Promise<Comparison> {
  const call = await plane.tenant(SERVED_MODEL);
  plane.model.answerAfter(MODEL_MS);
  // The first round warms up, and tells how many appends there is time for.
  let last = await round(plane, call, 0);
  const rounds = [];
  for (let number = 0; number < ROUNDS; number++) {
    last = await round(plane, call, Math.floor(last.during.length / 2));
    rounds.push(last);
  }
  plane.model.answerAfter(0);
  const during = rounds.flatMap((one) => one.during);
  const alone = rounds.flatMap((one) => one.alone);
  const slowest = (values: readonly number[]): string => quantile(values, 0.99).toFixed(1);
  return {
    name: "append_during_compaction_vs_alone",
    ratio: median(during) / median(alone),
    aim: "≤ 1.1",
    ours_ms: median(during),
    baseline_ms: median(alone),
    size:
      `${grouped(during.length)} and ${grouped(alone.length)} appends over HTTP; a job of ${grouped(MESSAGES)} messages, ` +
      `a model of ${MODEL_MS} ms a call; one in a hundred took more than ${slowest(during)} and ${slowest(alone)} ms`,
    repetitions: ROUNDS,
  };
}

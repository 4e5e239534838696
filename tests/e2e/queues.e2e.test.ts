import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "@sessionplane/shared/ids";
import { type Plane, type Tenant, startPlane, text, until } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant({ compaction: { threshold: 600, keep_recent_tokens: 100 } });
  await plane.addPrices("builtin", "extractive", { input: "1", output: "2" });
});
afterAll(() => plane.close());

const MESSAGES = 20;
const messages = Array.from({ length: MESSAGES }, (_, index) =>
  text(`m${index}`, index % 2 === 0 ? "user" : "assistant", `Item K${index}9 costs $${index}.10. ${"They went on. ".repeat(9)}`),
);

type Job = { id: string; state: string; attempts: number };
const jobsOf = async (session: string): Promise<Job[]> =>
  (await tenant.call<{ data: Job[] }>("GET", `/v1/sessions/${session}/compaction-jobs`)).body.data;
const rowOf = async (session: string) =>
  (await plane.catalog<{ message_count: number; name: string; seq: number }>("SELECT * FROM sessions WHERE id = ?", session))[0];
const wakeUp = (session: string, job: string) => ({ v: 1, tenant_id: tenant.id, session_id: session, job_id: job });

/** A session whose history is long enough that its append queues a job. */
async function compacting(): Promise<{ session: string; job: string }> {
  const session = await plane.session(tenant);
  const path = `/v1/sessions/${session}/messages`;
  const { body } = await tenant.call<{ compaction_job_id: string }>("POST", path, { messages });
  return { session, job: body.compaction_job_id };
}

const applied = (session: string, id: string): Promise<Job> =>
  until("the job to be applied", async () => (await jobsOf(session)).find((job) => job.id === id && job.state === "applied"));

async function expectOneCompaction(session: string, job: string): Promise<void> {
  expect(await jobsOf(session)).toMatchObject([{ id: job, state: "applied", attempts: 1 }]);
  const overlays = await tenant.call<{ data: unknown[] }>("GET", `/v1/sessions/${session}/compactions`);
  expect(overlays.body.data).toHaveLength(1);
  const usage = await tenant.call<{ data: object[] }>("GET", `/v1/sessions/${session}/usage/events`);
  expect(usage.body.data).toMatchObject([{ purpose: "compaction" }]);
}

/** The queue is in order of arrival: once a later job is done, everything before it was looked at. */
async function settleQueue(): Promise<void> {
  const { session, job } = await compacting();
  await applied(session, job);
}

describe("the queue of compaction jobs", () => {
  test("compacts and bills once when its wake-up comes many times at once", async () => {
    const { session, job } = await compacting();
    await Promise.all(Array.from({ length: 12 }, () => plane.sendWakeUp(wakeUp(session, job))));
    await applied(session, job);
    await settleQueue();
    await expectOneCompaction(session, job);
  });

  test("changes nothing when a wake-up comes after its job is done", async () => {
    const { session, job } = await compacting();
    await applied(session, job);
    const read = async () => (await tenant.call("GET", `/v1/sessions/${session}/messages?limit=100`)).body;
    const before = await read();
    await plane.sendWakeUp(wakeUp(session, job));
    await settleQueue();
    await expectOneCompaction(session, job);
    expect(await read()).toEqual(before);
  });

  test("lets go of wake-ups for jobs and sessions that are not there, and of what is none", async () => {
    const { session, job } = await compacting();
    await applied(session, job);
    const nobody = newId("session");
    for (const message of [wakeUp(session, newId("job")), wakeUp(nobody, newId("job")), wakeUp(nobody, job), { v: 2 }, "hello"]) {
      await plane.sendWakeUp(message);
    }
    await settleQueue();
    await expectOneCompaction(session, job);
    expect((await tenant.call("GET", `/v1/sessions/${nobody}`)).status).toBe(404);
  });

  test("wakes no job under another tenant's name", async () => {
    const stranger = await plane.tenant();
    const { session, job } = await compacting();
    await applied(session, job);
    await plane.sendWakeUp({ ...wakeUp(session, job), tenant_id: stranger.id });
    await settleQueue();
    expect((await stranger.call<{ data: unknown[] }>("GET", "/v1/sessions")).body.data).toEqual([]);
    await expectOneCompaction(session, job);
  });
});

describe("the queue of facts", () => {
  const describeFact = (seq: number, name: string, count: number) => ({
    kind: "session",
    seq,
    settings: {
      ...{ name, external_id: null, user_id: null, model: null, source: null, metadata: {}, tags: [] },
      ...{ parent_session_id: null, compaction: {} },
    },
    ...{ status: "active", end_reason: null, revision: 1, leaf_id: null, message_count: count, token_estimate: 0 },
    ...{ compaction_state: "idle", open_job_id: null, created_at: 0, updated_at: seq },
    usage: { events: 0, input_tokens: 0, output_tokens: 0, list_nano: 0, billed_nano: 0, unpriced_events: 0 },
  });
  const batch = (session: string, seq: number, name: string, owner = tenant.id) => ({
    ...{ v: 1, tenant_id: owner, session_id: session, after_seq: seq - 1, to_seq: seq },
    facts: [describeFact(seq, name, seq)],
  });

  test("shows the newest state of a session, in whatever order and however often it hears of it", async () => {
    // A session that has no object: its facts come from here alone.
    const session = newId("session");
    const order = [3, 7, 1, 9, 9, 2, 8, 3, 10, 4, 6, 5, 1];
    for (const seq of order) await plane.sendFacts(batch(session, seq, `as of ${seq}`));
    const last = newId("session");
    await plane.sendFacts(batch(last, 1, "the last to be sent"));
    await until("the last fact to be applied", async () => (await rowOf(last)) !== undefined);
    expect(await rowOf(session)).toMatchObject({ seq: 10, name: "as of 10", message_count: 10 });
  });

  test("never moves a session's row under another tenant", async () => {
    const stranger = await plane.tenant();
    const session = await plane.session(tenant, { name: "mine" });
    await plane.sendFacts(batch(session, 1_000, "taken over", stranger.id));
    const last = newId("session");
    await plane.sendFacts(batch(last, 1, "the last to be sent"));
    await until("the last fact to be applied", async () => (await rowOf(last)) !== undefined);
    expect(await rowOf(session)).toMatchObject({ name: "mine", tenant_id: tenant.id });
    expect((await stranger.call<{ data: unknown[] }>("GET", "/v1/sessions")).body.data).toEqual([]);
  });
});

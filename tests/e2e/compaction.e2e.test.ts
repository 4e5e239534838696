import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text, until } from "../support/harness.ts";
import { GOOD_SUMMARY, startModelServer } from "../support/model-server.ts";

const model = await startModelServer([{ kind: "status", status: 500 }]);
let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane({
    compactor: { COMPACTION_MODEL: "openai-compatible/scripted", OPENAI_COMPATIBLE_BASE_URL: model.url },
  });
  tenant = await plane.tenant({ compaction: { threshold: 600, keep_recent_tokens: 100, automatic: false } });
  await plane.addPrices("openai-compatible", "scripted", { input: "1", output: "2" });
});
beforeEach(() => void model.prompts.splice(0));
afterAll(async () => {
  await plane.close();
  await model.close();
});

type Job = {
  id: string;
  state: string;
  attempts: number;
  error: { code: string } | null;
  cost: { amount: string } | null;
  overlay_id: string | null;
};
const ENDED = ["applied", "stale", "rejected", "failed", "cancelled"];

const line = (index: number) =>
  text(
    `m${index}`,
    index % 2 === 0 ? "user" : "assistant",
    `Item K${index}9 costs $${index}.10. ${"It was talked about for a while. ".repeat(6)}`,
  );

async function compact(count = 20): Promise<{ session: string; job: Job }> {
  const session = await plane.session(tenant);
  await tenant.call("POST", `/v1/sessions/${session}/messages`, {
    messages: Array.from({ length: count }, (_, index) => line(index)),
  });
  const { status, body } = await tenant.call<Job>("POST", `/v1/sessions/${session}/compactions`, {});
  expect(status).toBe(202);
  const job = await until(
    "the job to end",
    async () => {
      const reply = await tenant.call<Job>("GET", `/v1/sessions/${session}/compaction-jobs/${body.id}`);
      return ENDED.includes(reply.body.state) && reply.body;
    },
    60_000,
  );
  return { session, job };
}

const usage = async (session: string) =>
  (await tenant.call<{ usage: { events: number; cost: { amount: string } } }>("GET", `/v1/sessions/${session}/usage`)).body.usage;
const shown = async (session: string) =>
  (await tenant.call<{ data: { id: string }[] }>("GET", `/v1/sessions/${session}/messages?limit=100`)).body.data.map(
    (message) => message.id,
  );

describe("a compaction on a model over HTTP", () => {
  test("stores the summary, its missing facts put back, and bills the call", async () => {
    model.play({ kind: "text", text: GOOD_SUMMARY });
    const { session, job } = await compact();

    expect(job).toMatchObject({ state: "applied", attempts: 1, cost: { amount: "0.000980000" } });
    expect(await usage(session)).toMatchObject({ events: 1, cost: { amount: "0.000980000" } });
    const { body } = await tenant.call<{ data: { summary: string; retention: { facts: number; kept: number } }[] }>(
      "GET",
      `/v1/sessions/${session}/compactions`,
    );
    expect(body.data[0]?.summary).toContain("K99");
    expect(body.data[0]?.retention.kept).toBe(body.data[0]?.retention.facts);
  });

  test("sends the transcript as data between boundaries that it can't know", async () => {
    model.play({ kind: "text", text: GOOD_SUMMARY });
    await compact();
    const prompt: { messages: { role: string; content: unknown }[] } = JSON.parse(model.prompts[0] ?? "");
    expect(prompt.messages.map((message) => message.role)).toEqual(["system", "user"]);
    expect(JSON.stringify(prompt.messages[1]?.content)).toMatch(/--- [0-9a-f-]{36} BEGIN TRANSCRIPT/);
  });

  test("tries again when the model is busy, and once it answers bills one call", async () => {
    model.play({ kind: "status", status: 429 }, { kind: "text", text: GOOD_SUMMARY });
    const { session, job } = await compact();
    expect(job).toMatchObject({ state: "applied", attempts: 2 });
    expect((await usage(session)).events).toBe(1);
  });

  test.each([401, 404])("fails at once when the model's server answers %i", async (status) => {
    model.play({ kind: "status", status });
    const { session, job } = await compact();
    expect(job).toMatchObject({ state: "failed", attempts: 1, error: { code: `model_status_${status}` } });
    expect(await shown(session)).toHaveLength(20);
  });

  test.each([
    ["empty", { kind: "text", text: " " } as const],
    ["cut off", { kind: "text", text: GOOD_SUMMARY, finish: "length" } as const],
    ["without sections", { kind: "text", text: "They talked." } as const],
    ["longer than its range", { kind: "text", text: GOOD_SUMMARY + "word ".repeat(2_000) } as const],
    ["a tool call", { kind: "text", text: `${GOOD_SUMMARY}<tool_call>{}</tool_call>` } as const],
  ])("rejects a summary that is %s after one more try with the reason, and bills both", async (_name, answer) => {
    model.play(answer);
    const { session, job } = await compact();
    expect(job).toMatchObject({ state: "rejected", attempts: 2, overlay_id: null });
    expect((await usage(session)).events).toBe(2);
    expect(model.prompts.at(-1)).toContain("was refused");
    expect(await shown(session)).toHaveLength(20);
  });

  test("folds a range that is larger than one call, chunk by chunk", async () => {
    model.play({ kind: "text", text: GOOD_SUMMARY });
    const session = await plane.session(tenant);
    const messages = Array.from({ length: 30 }, (_, index) =>
      text(`f${index}`, "user", `Chapter ${index}. ${"A long story goes on and on. ".repeat(280)}`),
    );
    await tenant.call("POST", `/v1/sessions/${session}/messages`, { messages });
    await tenant.call("POST", `/v1/sessions/${session}/compactions`, {});
    await until("the overlay", async () => (await shown(session)).some((id) => id.startsWith("compaction_")), 60_000);
    expect(model.prompts.length).toBeGreaterThan(1);
    expect((await usage(session)).events).toBe(model.prompts.length);
    expect(model.prompts.at(-1)).toContain("SUMMARY");
  });

  test("suspends automatic compaction after three failures in a row, until someone asks", async () => {
    model.play({ kind: "status", status: 401 });
    const session = await plane.session(tenant, { compaction: { automatic: true } });
    const read = async () =>
      (await tenant.call<{ compaction: { state: string; open_job_id: string | null } }>("GET", `/v1/sessions/${session}`)).body
        .compaction;
    for (let sent = 0; (await read()).state !== "suspended"; sent++) {
      expect(sent).toBeLessThan(60);
      await tenant.call("POST", `/v1/sessions/${session}/messages`, { message: line(sent) });
      await until("no job to be open", async () => (await read()).open_job_id === null);
    }
    const jobs = async () => (await tenant.call<{ data: Job[] }>("GET", `/v1/sessions/${session}/compaction-jobs`)).body.data;
    expect(await jobs()).toHaveLength(3);

    model.play({ kind: "text", text: GOOD_SUMMARY });
    await tenant.call("POST", `/v1/sessions/${session}/compactions`, {});
    await until("the job by hand", async () => (await jobs()).some((job) => job.state === "applied"));
    expect((await read()).state).toBe("idle");
  });

  test("says that a model is unknown which no provider has", async () => {
    const unknown = await plane.tenant({ compaction: { threshold: 600, keep_recent_tokens: 100, model: "nobody/nothing" } });
    const session = await plane.session(unknown);
    await unknown.call("POST", `/v1/sessions/${session}/messages`, {
      messages: Array.from({ length: 20 }, (_, index) => line(index)),
    });
    const job = await until("the job to fail", async () => {
      const { body } = await unknown.call<{ data: Job[] }>("GET", `/v1/sessions/${session}/compaction-jobs`);
      return body.data.find((one) => one.state === "failed");
    });
    expect(job.error?.code).toBe("unknown_model");
  });

  test("ends a cancelled job for good", async () => {
    model.play({ kind: "status", status: 500 });
    const session = await plane.session(tenant);
    await tenant.call("POST", `/v1/sessions/${session}/messages`, {
      messages: Array.from({ length: 20 }, (_, index) => line(index)),
    });
    const { body: job } = await tenant.call<Job>("POST", `/v1/sessions/${session}/compactions`, {});
    const cancelled = await tenant.call<Job>("POST", `/v1/sessions/${session}/compaction-jobs/${job.id}/cancel`);
    expect([cancelled.status, cancelled.body.state]).toEqual([200, "cancelled"]);
    const again = await tenant.call("POST", `/v1/sessions/${session}/compaction-jobs/${job.id}/cancel`);
    expect([again.status, again.body["code"]]).toEqual([409, "job_not_open"]);
  });

  test("appends while a job is open, and never opens a second", async () => {
    model.play({ kind: "status", status: 500 });
    const session = await plane.session(tenant, { compaction: { automatic: true } });
    const sent = await Promise.all(
      Array.from({ length: 20 }, (_, index) => tenant.call("POST", `/v1/sessions/${session}/messages`, { message: line(index) })),
    );
    expect(sent.every((reply) => reply.status === 201)).toBe(true);
    const { body } = await tenant.call<{ data: Job[] }>("GET", `/v1/sessions/${session}/compaction-jobs`);
    expect(body.data).toHaveLength(1);
    expect(await shown(session)).toHaveLength(20);
  });
});

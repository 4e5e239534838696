/** What people do with summaries over HTTP: plan, write, look, revert, run again, overflow, retry; and what edits do. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text, until } from "../support/harness.ts";
import { GOOD_SUMMARY, startModelServer } from "../support/model-server.ts";

const model = await startModelServer([{ kind: "status", status: 500 }]);
let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane({
    api: { COMPACTION_POLICY: JSON.stringify({ threshold: 50_000, protect_head: 5 }) },
    compactor: { COMPACTION_MODEL: "openai-compatible/scripted", OPENAI_COMPATIBLE_BASE_URL: model.url },
  });
  tenant = await plane.tenant({ compaction: { threshold: 600, protect_head: 3, keep_recent_tokens: 100, automatic: false } });
  await plane.addPrices("openai-compatible", "scripted", { input: "1", output: "2" });
});
beforeEach(() => {
  model.prompts.splice(0);
  model.play({ kind: "text", text: GOOD_SUMMARY });
});
afterAll(async () => {
  await plane.close();
  await model.close();
});

type Job = { id: string; state: string; trigger: string; renews_overlay_id: string | null; overlay_id: string | null };
type Overlay = { id: string; from_id: string; to_id: string; summary: string; stale: boolean; cost: unknown; messages: number };
type History = { data: { id: string; parts: { text?: string }[] }[] };

const line = (index: number) =>
  text(
    `m${index}`,
    index % 2 === 0 ? "user" : "assistant",
    `Item K${index}9 costs $${index}.10. ${"It was talked about for a while. ".repeat(6)}`,
  );
async function newSession(count = 20, body: object = {}): Promise<string> {
  const path = `/v1/sessions/${await plane.session(tenant, body)}`;
  const messages = Array.from({ length: count }, (_, index) => line(index));
  if (count > 0) expect((await tenant.call("POST", `${path}/messages`, { messages })).status).toBe(201);
  return path;
}
const post = (path: string, body: object = {}, headers?: Record<string, string>) =>
  tenant.call<Job & Overlay & { code: string }>("POST", path, body, headers);
const shown = async (path: string, query = ""): Promise<string[]> =>
  (await tenant.call<History>("GET", `${path}/messages?limit=100${query}`)).body.data.map(({ id }) => id);
const overlays = async (path: string): Promise<Overlay[]> =>
  (await tenant.call<{ data: Overlay[] }>("GET", `${path}/compactions`)).body.data;
const jobs = async (path: string): Promise<Job[]> =>
  (await tenant.call<{ data: Job[] }>("GET", `${path}/compaction-jobs`)).body.data;
const ended = (path: string, id: string): Promise<Job> =>
  until(
    "the job to end",
    async () => {
      const { body } = await tenant.call<Job>("GET", `${path}/compaction-jobs/${id}`);
      return ["applied", "stale", "rejected", "failed", "cancelled"].includes(body.state) && body;
    },
    60_000,
  );
async function compacted(path: string): Promise<Job> {
  const { status, body } = await post(`${path}/compactions`);
  expect(status).toBe(202);
  return ended(path, body.id);
}
const refusal = ({ status, body }: { status: number; body: object }) => {
  const { code, errors } = body as { code: string; errors?: { pointer: string }[] };
  return [status, code, errors?.[0]?.pointer];
};

describe("a plan", () => {
  test("says what would be summarised, what is at risk and what it saves, and changes nothing", async () => {
    const path = await newSession();
    const { status, body } = await tenant.call<{ plan: Record<string, number | string> }>("POST", `${path}/compactions`, {
      dry_run: true,
    });
    expect(status).toBe(200);
    expect(body.plan).toMatchObject({ kind: "compact", from_id: "m3", overlays: [], model: null });
    expect(body.plan["facts"]).toBeGreaterThan(20);
    expect(body.plan["saved_tokens"]).toBeGreaterThan(500);
    expect(await jobs(path)).toEqual([]);
    const priced = await newSession(20, { compaction: { model: "openai-compatible/scripted" } });
    const { body: costly } = await tenant.call<{ estimated_cost: { amount: string } }>("POST", `${priced}/compactions`, {
      dry_run: true,
    });
    expect(Number(costly.estimated_cost.amount)).toBeGreaterThan(0);
  });

  test("of too short a session says why there is none", async () => {
    const { body } = await tenant.call("POST", `${await newSession(2)}/compactions`, { dry_run: true });
    expect(body["plan"]).toEqual({ kind: "skip", reason: "too_short" });
  });
});

describe("a summary of one's own", () => {
  test("stands for its range when the history is read, and goes when it is reverted", async () => {
    const path = await newSession(6);
    const made = await post(`${path}/compactions`, { summary: "They spoke of items.", from_id: "m1", to_id: "m3" });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ from_id: "m1", to_id: "m3", messages: 3, stale: false, cost: null });
    expect(await shown(path)).toEqual(["m0", `compaction_${made.body.id}`, "m4", "m5"]);
    const read = await tenant.call<Overlay>("GET", `${path}/compactions/${made.body.id}`);
    expect(read.body).toEqual(made.body);
    expect((await tenant.call("DELETE", `${path}/compactions/${made.body.id}`)).status).toBe(204);
    expect(await shown(path)).toEqual(["m0", "m1", "m2", "m3", "m4", "m5"]);
    expect((await tenant.call("DELETE", `${path}/compactions/${made.body.id}`)).status).toBe(404);
  });

  test("needs two ends of one path, in order, that separate no call from its result", async () => {
    const path = await newSession(6);
    const branch = { message: text("b1", "user", "another way"), parent_id: "m2" };
    await tenant.call("POST", `${path}/messages`, branch);
    await tenant.call("PUT", `${path}/leaf`, { leaf_id: "m5" });
    const call = { type: "tool-look", toolCallId: "c1", state: "input-available", input: {} };
    await tenant.call("POST", `${path}/messages`, { message: { id: "call", role: "assistant", parts: [call] } });
    const result = { ...call, state: "output-available", output: "x" };
    await tenant.call("POST", `${path}/messages`, { message: { id: "result", role: "tool", parts: [result] } });
    const asked = (from_id: string, to_id: string) => post(`${path}/compactions`, { summary: "s", from_id, to_id });
    expect(refusal(await asked("m4", "m1"))).toEqual([422, "invalid_range", "/from_id"]);
    expect(refusal(await asked("m3", "b1"))).toEqual([422, "invalid_range", "/from_id"]);
    expect(refusal(await asked("none", "m1"))).toEqual([422, "unknown_message", "/from_id"]);
    expect(refusal(await asked("m1", "none"))).toEqual([422, "unknown_message", "/to_id"]);
    expect(refusal(await asked("m4", "call"))).toEqual([422, "invalid_range", "/to_id"]);
    expect((await asked("m4", "result")).status).toBe(201);
    expect(refusal(await post(`${path}/compactions`, { summary: "s" }))).toEqual([422, "invalid", "/from_id"]);
    expect(refusal(await post(`${path}/compactions`, { from_id: "m1" }))).toEqual([422, "invalid", "/from_id"]);
    expect(refusal(await post(`${path}/compactions`, { summary: " ", from_id: "m1", to_id: "m2" }))).toEqual([
      ...[422, "invalid", "/summary"],
    ]);
  });

  test("is made once a key, and never by a key that may not write as server", async () => {
    const path = await newSession(6);
    const body = { summary: "s", from_id: "m1", to_id: "m3" };
    const key = { "Idempotency-Key": "once" };
    const [first, again] = [await post(`${path}/compactions`, body, key), await post(`${path}/compactions`, body, key)];
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("Idempotent-Replayed")).toBe("true");
    expect(await overlays(path)).toHaveLength(1);
    const scopes = ["sessions:read", "sessions:write"];
    const made = await plane.operator<{ key: string }>("POST", `/v1/tenants/${tenant.id}/keys`, { name: "client", scopes });
    const client = plane.caller(made.body.key);
    expect(refusal(await client("POST", `${path}/compactions`, body))).toEqual([403, "insufficient_scope", undefined]);
  });
});

describe("a summary of a model", () => {
  test("that is reverted brings back the one that it had gone on from, and then the messages", async () => {
    const path = await newSession();
    const first = await compacted(path);
    const more = Array.from({ length: 20 }, (_, index) => line(20 + index));
    await tenant.call("POST", `${path}/messages`, { messages: more });
    const second = await compacted(path);
    const summaries = async () => (await shown(path)).filter((id) => id.startsWith("compaction_"));
    expect(await summaries()).toEqual([`compaction_${second.overlay_id}`]);
    await tenant.call("DELETE", `${path}/compactions/${second.overlay_id}`);
    expect(await summaries()).toEqual([`compaction_${first.overlay_id}`]);
    await tenant.call("DELETE", `${path}/compactions/${first.overlay_id}`);
    expect(await shown(path)).toEqual([...Array(40).keys()].map((index) => `m${index}`));
  });

  test("is written again of the originals, with instructions and another model; the old one stands until then", async () => {
    const path = await newSession();
    const { overlay_id: id } = await compacted(path);
    model.prompts.splice(0);
    model.play({ kind: "text", text: GOOD_SUMMARY.replace("It was discussed.", "It was discussed at length."), afterMs: 1_500 });
    const rerun = await post(`${path}/compactions/${id}/rerun`, {
      ...{ model: "openai-compatible/other", instructions: "Keep the names of cities." },
    });
    expect([rerun.status, rerun.body.trigger, rerun.body.renews_overlay_id]).toEqual([202, "rerun", id]);
    expect(await shown(path)).toContain(`compaction_${id}`);
    expect(refusal(await post(`${path}/compactions/${id}/rerun`))).toEqual([409, "job_open", undefined]);
    const done = await ended(path, rerun.body.id);
    expect(done.state).toBe("applied");
    expect(await shown(path)).toContain(`compaction_${done.overlay_id}`);
    expect(model.prompts[0]).toContain("Keep the names of cities.");
    expect(model.prompts[0]).toContain("K59");
    expect(JSON.parse(model.prompts[0] ?? "{}")).toMatchObject({ model: "other" });
  });

  test("whose message is edited says that it is stale, and is renewed", async () => {
    const path = await newSession(20, { compaction: { automatic: true, threshold: 100_000, keep_recent_tokens: 100 } });
    const { overlay_id: id } = await compacted(path);
    model.play({ kind: "text", text: GOOD_SUMMARY, afterMs: 1_000 });
    model.prompts.splice(0);
    const edit = { message: { role: "user", parts: [{ type: "text", text: "Item K69 costs nothing at all." }] } };
    const put = await tenant.call<{ compaction_job_id: string }>("PUT", `${path}/messages/m6`, edit);
    expect(put.body.compaction_job_id).toMatch(/^job_/);
    expect(await overlays(path)).toMatchObject([{ id, stale: true }]);
    const job = await ended(path, put.body.compaction_job_id);
    expect(job).toMatchObject({ state: "applied", trigger: "renewal", renews_overlay_id: id });
    expect(await shown(path)).toContain(`compaction_${job.overlay_id}`);
    expect(model.prompts[0]).toContain("costs nothing at all");
    expect(await overlays(path)).toMatchObject([{ stale: false }, { id, stale: true }]);
  });

  test("whose message is deleted goes at once, and is renewed without it", async () => {
    const path = await newSession(20, { compaction: { automatic: true, threshold: 100_000, keep_recent_tokens: 100 } });
    await compacted(path);
    model.prompts.splice(0);
    model.play({ kind: "text", text: GOOD_SUMMARY, afterMs: 1_000 });
    expect((await tenant.call("DELETE", `${path}/messages/m6`)).status).toBe(204);
    expect(await overlays(path)).toEqual([]);
    expect(await shown(path)).toHaveLength(19);
    const [job] = await jobs(path);
    expect(job?.trigger).toBe("renewal");
    const done = await ended(path, job?.id ?? "");
    expect(done.state).toBe("applied");
    expect(model.prompts[0]).not.toContain("K69");
    expect((await shown(path)).filter((one) => one.startsWith("compaction_"))).toHaveLength(1);
  });

  test("can be read word for word behind its tool", async () => {
    const path = await newSession();
    const { overlay_id: id } = await compacted(path);
    const run = async (args: object) =>
      (await tenant.call<{ output: string; is_error: boolean }>("POST", `${path}/tools/recall`, { arguments: args })).body;
    const tools = await tenant.call<{ data: { name: string }[] }>("GET", `${path}/tools`);
    expect(tools.body.data.map(({ name }) => name)).toContain("recall");
    const all = await run({ summary_id: `compaction_${id}` });
    expect(all.output).toContain("(m3) Item K39 costs $3.10.");
    expect((await run({ query: "K79" })).output).toContain("(m7) Item K79");
    expect((await run({ query: "K09" })).output).toBe("No results found.");
  });
});

describe("an overflow", () => {
  test("is answered with the shortened history", async () => {
    const path = await newSession();
    const { status, body } = await tenant.call<{ job: Job; history: History & { token_estimate: number } }>(
      "POST",
      `${path}/overflow`,
      {
        error: "prompt is too long",
      },
    );
    expect(status).toBe(200);
    expect(body.job).toMatchObject({ state: "applied", trigger: "overflow" });
    expect(body.history.data.map(({ id }) => id)).toEqual(await shown(path));
    expect(body.history.token_estimate).toBeLessThan(600);
  });

  test("takes of the tail when there is nothing else, and comes to an end", async () => {
    const path = await newSession(20, { compaction: { threshold: 5_000, keep_recent_tokens: 4_000 } });
    expect(refusal(await post(`${path}/compactions`))).toEqual([422, "nothing_to_compact", undefined]);
    const lengths: number[] = [];
    let last = await tenant.call("POST", `${path}/overflow`);
    for (let calls = 1; last.status === 200 && calls < 10; calls++) {
      lengths.push((await shown(path)).length);
      last = await tenant.call("POST", `${path}/overflow`);
    }
    expect(refusal(last)).toEqual([422, "nothing_to_compact", undefined]);
    expect(lengths.length).toBeGreaterThan(0);
    expect(lengths).toEqual(lengths.toSorted((a, b) => b - a));
  });

  test("says what is open when there is no summary in time", async () => {
    const path = await newSession();
    model.play({ kind: "text", text: GOOD_SUMMARY, afterMs: 4_000 });
    const late = await tenant.call("POST", `${path}/overflow`, { deadline_ms: 1_000 });
    expect(refusal(late)).toEqual([503, "compaction_unfinished", undefined]);
    expect(late.headers.get("Retry-After")).toBe("2");
    expect(await shown(path)).toHaveLength(20);
    await ended(path, String(late.body["job_id"]));
  });

  test("says what went wrong when no summary can be made, and changes nothing", async () => {
    const path = await newSession();
    model.play({ kind: "text", text: "" });
    const failed = await tenant.call("POST", `${path}/overflow`);
    expect(refusal(failed)).toEqual([409, "compaction_failed", undefined]);
    expect(failed.body).toMatchObject({ state: "rejected", job_id: expect.stringMatching(/^job_/) });
    expect(await shown(path)).toHaveLength(20);
  });

  test("is answered again for its key, and follows the job that came in place of a stale one", async () => {
    const path = await newSession();
    model.play({ kind: "text", text: GOOD_SUMMARY, afterMs: 1_500 });
    const key = { "Idempotency-Key": "one" };
    const first = tenant.call<{ job: Job; history: History }>("POST", `${path}/overflow`, {}, key);
    await until("the job to be at work", async () => (await jobs(path))[0]?.state === "running");
    const other = { message: { role: "assistant", parts: [{ type: "text", text: "Other." }] } };
    expect((await tenant.call("PUT", `${path}/messages/m5`, other)).status).toBe(200);
    const answered = await first;
    expect([answered.status, answered.body.job.state]).toEqual([200, "applied"]);
    expect((await jobs(path)).map(({ state }) => state)).toEqual(["applied", "stale"]);
    const again = await tenant.call<{ job: Job }>("POST", `${path}/overflow`, {}, key);
    expect([again.body.job.id, again.headers.get("Idempotent-Replayed")]).toEqual([answered.body.job.id, "true"]);
    expect(await jobs(path)).toHaveLength(2);
  });
});

test("a plane's policy holds where neither tenant nor session says otherwise", async () => {
  const other = await plane.tenant({ compaction: { keep_recent_tokens: 40_000 } });
  const thresholdOf = async (body: object) => {
    const { body: session } = await other.call<{ compaction: { threshold: number } }>("POST", "/v1/sessions", body);
    return session.compaction.threshold;
  };
  expect(await thresholdOf({})).toBe(50_000);
  expect(await thresholdOf({ compaction: { threshold: 60_000 } })).toBe(60_000);
  const contradiction = await other.call("POST", "/v1/sessions", { compaction: { threshold: 30_000 } });
  expect(contradiction.status).toBe(422);
  const { body } = await plane.operator("POST", "/v1/tenants", {
    name: "x",
    settings: { compaction: { keep_recent_tokens: 60_000 } },
  });
  expect(body["code"]).toBe("invalid");
});

describe("a job that failed", () => {
  async function failed(): Promise<{ path: string; job: Job }> {
    const path = await newSession();
    model.play({ kind: "status", status: 401 });
    const job = await compacted(path);
    expect(job.state).toBe("failed");
    model.play({ kind: "text", text: GOOD_SUMMARY });
    return { path, job };
  }

  test("is tried again by its tenant", async () => {
    const { path, job } = await failed();
    const retried = await post(`${path}/compaction-jobs/${job.id}/retry`);
    expect([retried.status, retried.body.id, retried.body.state]).toEqual([202, job.id, "queued"]);
    expect((await ended(path, job.id)).state).toBe("applied");
    expect(refusal(await post(`${path}/compaction-jobs/${job.id}/retry`))).toEqual([409, "job_not_retriable", undefined]);
  });

  test("is not tried again when its range has changed since", async () => {
    const { path, job } = await failed();
    await tenant.call("DELETE", `${path}/messages/m6`);
    expect(refusal(await post(`${path}/compaction-jobs/${job.id}/retry`))).toEqual([409, "job_not_retriable", undefined]);
  });

  test("is tried again with all others by an operator", async () => {
    const lost = [await failed(), await failed()];
    const isListed = async () => {
      const { body } = await plane.operator<{ data: Job[] }>("GET", `/v1/compaction-jobs?status=failed&tenant_id=${tenant.id}`);
      return lost.every(({ job }) => body.data.some(({ id }) => id === job.id));
    };
    await until("the catalog to know of both", isListed);
    const redriven = await plane.operator<{ results: { job_id: string; redriven: boolean }[] }>(
      ...["POST", "/v1/compaction-jobs/redrive"],
      { status: "failed", tenant_id: tenant.id },
    );
    expect(redriven.status).toBe(200);
    for (const { path, job } of lost) {
      expect(redriven.body.results).toContainEqual(expect.objectContaining({ job_id: job.id, redriven: true }));
      expect((await ended(path, job.id)).state).toBe("applied");
    }
  });
});

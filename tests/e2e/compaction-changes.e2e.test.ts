/** What others do to a session while a summary of it is being written. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Compacting, type Job, lines } from "../support/compacting.ts";
import { type Plane, type Tenant, startPlane, text, until } from "../support/harness.ts";
import { GOOD_SUMMARY, type Scripted, startModelServer } from "../support/model-server.ts";

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
beforeEach(() => {
  model.prompts.splice(0);
  model.play(GOOD);
});
afterAll(async () => {
  await plane.close();
  await model.close();
});

const GOOD: Scripted = { kind: "text", text: GOOD_SUMMARY };
const SLOW: Scripted = { kind: "text", text: GOOD_SUMMARY, afterMs: 1_500 };
const opened = (count = 20, body: object = {}): Promise<Compacting> => Compacting.open(plane, tenant, model, count, body);
const summaries = (ids: readonly string[]): string[] => ids.filter((id) => id.startsWith("compaction_"));

/** A job whose model was asked and has not answered. */
async function summarising(session: Compacting): Promise<Job> {
  const before = model.prompts.length;
  model.play(SLOW, GOOD);
  const job = await session.compact();
  await session.asked(before + 1);
  return job;
}

/** The job ended stale; the one that was planned in its place is applied. */
async function expectPlannedAnew(session: Compacting, { id }: Job): Promise<Job> {
  expect(await session.ended(id)).toMatchObject({ state: "stale", error: { code: "range_changed" }, overlay_id: null });
  // Newest first.
  const find = async () => {
    const [job] = await session.jobs();
    return job?.state === "applied" && job.id !== id && job;
  };
  return until("the next job to be applied", find, 60_000);
}

describe("a range that changes while it is summarised makes its job stale and another is planned: the first call is billed too", () => {
  test("when a message of it is edited", async () => {
    const session = await opened();
    const job = await summarising(session);
    await session.edit("m6", "Item K69 is free now.");
    await expectPlannedAnew(session, job);
    expect(model.prompts.at(-1)).toContain("is free now");
    const { usageEvents, overlays } = await session.expectSound();
    expect([usageEvents.length, overlays.length]).toEqual([2, 1]);
  });

  test("when a message of it is deleted: its summary never holds it", async () => {
    const session = await opened();
    const job = await summarising(session);
    await session.remove("m6");
    await expectPlannedAnew(session, job);
    const { usageEvents, overlays } = await session.expectSound();
    expect(usageEvents).toHaveLength(2);
    expect(JSON.stringify(overlays)).not.toContain("K69");
  });

  test("when someone stores a summary across it", async () => {
    const session = await opened();
    const job = await summarising(session);
    await session.compact({ summary: "By hand.", from_id: "m5", to_id: "m8" });
    await expectPlannedAnew(session, job);
    expect(model.prompts.at(-1)).toContain("By hand.");
    const { history, overlays } = await session.expectSound();
    expect(overlays).toHaveLength(2);
    expect(summaries(history.map(({ id }) => id))).toHaveLength(1);
  });

  test("when a summary that it goes on from is reverted", async () => {
    const session = await opened();
    const first = await session.ended((await session.compact()).id);
    await session.append(...lines(20, 40));
    const job = await summarising(session);
    await session.call("DELETE", `/compactions/${first.overlay_id}`);
    const next = await expectPlannedAnew(session, job);
    expect(model.prompts.at(-1)).toContain("K59");
    const { overlays, usageEvents } = await session.expectSound();
    expect([overlays.map(({ id }) => id), usageEvents.length]).toEqual([[next.overlay_id], 3]);
  });
});

describe("an erasure while a session is summarised", () => {
  test("leaves no summary, no job, and the call billed once", async () => {
    const session = await opened();
    await summarising(session);
    await session.call("DELETE", "");
    const billed = async () => (await session.usageEvents()).length === 1;
    await until("the call to be billed", billed, 60_000);
    const left = await plane.objectRows(tenant, session.id, "SELECT id FROM jobs UNION ALL SELECT id FROM overlays");
    expect(left).toEqual([]);
    const jobs = () => plane.catalog("SELECT 1 FROM compaction_jobs WHERE session_id = ?", session.id);
    await until("the catalog to have no job of it", async () => (await jobs()).length === 0);
    await expect(session.call("GET", "/messages")).rejects.toThrow("410");
    expect(model.busy()).toBe(false);
  });
});

describe("what does not touch the range leaves its job alone", () => {
  test("another branch becomes the active one: the summary stands on the branch that it was planned for", async () => {
    const session = await opened();
    const job = await summarising(session);
    await session.call("POST", "/messages", { message: text("b1", "user", "another way"), parent_id: "m5" });
    expect(await session.shown()).toEqual(["m0", "m1", "m2", "m3", "m4", "m5", "b1"]);
    const { overlay_id: id } = await session.ended(job.id);
    expect(await session.shown()).toEqual(["m0", "m1", "m2", "m3", "m4", "m5", "b1"]);
    expect(await session.shown("&leaf_id=m19")).toContain(`compaction_${id}`);
    await session.call("PUT", "/leaf", { leaf_id: "m19" });
    await session.expectSound();
  });

  test("an overflow of another branch is told of the job, and not given its history", async () => {
    const session = await opened();
    await session.call("POST", "/messages", { messages: lines(20, 40), parent_id: "m2" });
    model.play(SLOW, GOOD);
    const job = await session.compact({ leaf_id: "m19" });
    const overflow = (body: object) =>
      tenant.call<{ code: string; job_id: string; history: { token_estimate: number } }>(
        "POST",
        `${session.path}/overflow`,
        body,
      );
    const refused = await overflow({});
    expect([refused.status, refused.body.code, refused.body.job_id]).toEqual([409, "job_open", job.id]);
    await session.ended(job.id);
    const answered = await overflow({});
    expect(answered.status).toBe(200);
    expect(summaries(await session.shown())).toHaveLength(1);
    const other = await overflow({ leaf_id: "m19" });
    const { meta } = await session.call<{ meta: { token_estimate: number }[] }>("GET", "/messages?limit=100&leaf_id=m19");
    if (other.status === 200)
      expect(other.body.history.token_estimate).toBe(meta.reduce((sum, { token_estimate: tokens }) => sum + tokens, 0));
    await session.rested();
  });

  test("messages of the tail are edited, deleted and added", async () => {
    const session = await opened();
    const job = await summarising(session);
    await session.edit("m19", "Another end.");
    await session.remove("m18");
    await session.append(...lines(20, 23));
    expect((await session.ended(job.id)).state).toBe("applied");
    expect((await session.expectSound()).usageEvents).toHaveLength(1);
  });

  test("a fork at a message inside the range has the originals, one after it the summary", async () => {
    const session = await opened();
    const job = await summarising(session);
    const fork = async (at: string) => {
      const made = await session.call<{ id: string }>("POST", "/fork", { at_message_id: at });
      const { body } = await tenant.call<{ data: { id: string }[] }>("GET", `/v1/sessions/${made.id}/messages?limit=100`);
      const open = await tenant.call<{ data: object[] }>("GET", `/v1/sessions/${made.id}/compaction-jobs`);
      return { ids: body.data.map(({ id }) => id), jobs: open.body.data };
    };
    const originals = { ids: [...Array(10).keys()].map((index) => `m${index}`), jobs: [] };
    expect(await fork("m9")).toEqual(originals);
    const { overlay_id: id } = await session.ended(job.id);
    expect(await fork("m9")).toEqual(originals);
    expect((await fork("m19")).ids).toContain(`compaction_${id}`);
    await session.expectSound();
  });
});

describe("what ends the session's history ends the job", () => {
  test("a cleared session stays clear; what was called is billed", async () => {
    const session = await opened();
    const job = await summarising(session);
    await session.call("DELETE", "/messages");
    session.written.clear();
    expect((await session.ended(job.id)).state).toBe("stale");
    const { raw, overlays, usageEvents } = await session.expectSound();
    expect([raw, overlays, usageEvents.length]).toEqual([[], [], 1]);
  });

  test("an ended session gets no summary any more; what was called is billed", async () => {
    const session = await opened();
    const job = await summarising(session);
    await session.call("POST", "/end", { reason: "done" });
    expect(await session.ended(job.id)).toMatchObject({ state: "cancelled", error: { code: "session_ended" } });
    const { history, usageEvents } = await session.expectSound();
    expect([history.length, usageEvents.length]).toEqual([20, 1]);
  });

  test("a cancelled job's summary is thrown away; what was called is billed", async () => {
    const session = await opened();
    const job = await summarising(session);
    await session.call("POST", `/compaction-jobs/${job.id}/cancel`);
    expect((await session.ended(job.id)).state).toBe("cancelled");
    const { history, usageEvents } = await session.expectSound();
    expect([history.length, usageEvents.length]).toEqual([20, 1]);
  });
});

describe("a summary that was written again", () => {
  test("can't be written again in the place of the newer one, and goes with it into a fork", async () => {
    const session = await opened();
    const first = await session.ended((await session.compact()).id);
    const again = await session.call<Job>("POST", `/compactions/${first.overlay_id}/rerun`, {});
    const second = await session.ended(again.id);
    const refused = await tenant.call("POST", `${session.path}/compactions/${first.overlay_id}/rerun`, {});
    expect([refused.status, refused.body["code"], refused.body["reason"]]).toEqual([422, "nothing_to_compact", "superseded"]);
    const { history } = await session.expectSound();
    expect(summaries(history.map(({ id }) => id))).toEqual([`compaction_${second.overlay_id}`]);
    const fork = await session.call<{ id: string }>("POST", "/fork", { at_message_id: "m19" });
    const { body } = await tenant.call<{ data: { id: string }[] }>("GET", `/v1/sessions/${fork.id}/messages?limit=100`);
    expect(summaries(body.data.map(({ id }) => id))).toEqual([`compaction_${second.overlay_id}`]);
  });

  test("in a fork, too, when a message under it is edited there; one by hand is left to whoever wrote it", async () => {
    const session = await opened(20, { compaction: { automatic: true, threshold: 100_000 } });
    const made = await session.ended((await session.compact()).id);
    const fork = await session.call<{ id: string }>("POST", "/fork", { at_message_id: "m19" });
    const path = `/v1/sessions/${fork.id}`;
    const edit = async (id: string, said: string) =>
      tenant.call("PUT", `${path}/messages/${id}`, { message: { role: "user", parts: [{ type: "text", text: said }] } });
    const jobs = async () => (await tenant.call<{ data: Job[] }>("GET", `${path}/compaction-jobs`)).body.data;
    await edit("m6", "Item K69 is free now.");
    const renewal = await until("the summary to be written again", async () => {
      const [job] = await jobs();
      return job?.state === "applied" && job;
    });
    expect(renewal).toMatchObject({ trigger: "renewal", renews_overlay_id: made.overlay_id });
    expect(model.prompts.at(-1)).toContain("is free now");
    await tenant.call("POST", `${path}/compactions`, { summary: "By hand.", from_id: "m17", to_id: "m18" });
    await edit("m18", "Other words.");
    expect(await jobs()).toHaveLength(1);
  });

  test("and is reverted is so in the catalog and in the stream, too", async () => {
    const session = await opened();
    const { overlay_id: id } = await session.ended((await session.compact()).id);
    await session.call("DELETE", `/compactions/${id}`);
    const { history, overlays, tokenEstimate, listed } = await session.expectSound();
    expect([history.length, overlays]).toEqual([20, []]);
    expect(listed).toMatchObject({ token_estimate: tokenEstimate });
    const events = "SELECT data FROM events WHERE type = 'compact' ORDER BY seq";
    const rows = await plane.objectRows<{ data: string }>(tenant, session.id, events);
    expect(rows.map(({ data }) => (JSON.parse(data) as { reverted?: boolean }).reverted)).toEqual([undefined, true]);
  });
});

test("a skill that was unloaded inside the range is not in what the model reads", async () => {
  const document = "Refunds take five days to arrive. ".repeat(60);
  await tenant.call("PUT", "/v1/skills/refunds", document, { "Content-Type": "text/markdown" });
  const session = await opened(6, { blocks: [{ label: "skills", kind: "skills" }] });
  const args = { label: "skills", key: "refunds" };
  const { output } = await session.call<{ output: string }>("POST", "/tools/load_context", { arguments: args });
  const call = { type: "tool-load_context", toolCallId: "c1", state: "output-available", input: args, output };
  await session.call("POST", "/messages", { message: { id: "load", role: "assistant", parts: [call] } });
  session.written.set("load", "");
  await session.append(...lines(6, 20));
  const job = await summarising(session);
  await session.call("POST", "/tools/unload_context", { arguments: args });
  expect((await session.ended(job.id)).state).toBe("applied");
  await session.expectSound();
  const { overlay_id: id } = await session.job(job.id);
  model.prompts.splice(0);
  const again = await session.call<Job>("POST", `/compactions/${id}/rerun`, {});
  expect((await session.ended(again.id)).state).toBe("applied");
  expect(model.prompts[0]).not.toContain("Refunds take five days");
  await session.expectSound();
});

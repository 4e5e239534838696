import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { JobId } from "@sessionplane/shared/ids";
import type { UsageFact } from "@sessionplane/shared/queue/fact";
import type { JobCommit } from "@sessionplane/shared/rpc/job-rpc";
import type { TenantRules } from "@sessionplane/shared/rpc/session-rpc";
import { type FaultPoint, FaultPoints } from "./fault-points.ts";
import { type Sent, watchQueues } from "./testing/queues.ts";
import { RULES, type TestSession, append, conversation, message, opened, until, usage, valueOf } from "./testing/session.ts";

const COMPACTING: TenantRules = {
  ...RULES,
  compaction: { threshold: 300, keep_recent_tokens: 60, protect_head: 1, cooldown_messages: 1 },
};
const COMMIT: JobCommit = { summary: "short", model: "m", retention: null, usage: [usage("call", { purpose: "compaction" })] };

let sent: Sent;
beforeEach(() => {
  sent = watchQueues();
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** The call dies at the point: its caller learns nothing. */
async function dies(session: TestSession, point: FaultPoint, call: () => Promise<unknown>): Promise<void> {
  await session.rpc().armFault(point);
  const answered = await call().then(
    () => true,
    () => false,
  );
  expect(answered).toBe(false);
}

const describeIt = async (session: TestSession) => valueOf(await session.rpc().describe(RULES));
const jobs = async (session: TestSession) => valueOf(await session.rpc().listJobs({ limit: 100 })).items;
const sentUsage = (session: TestSession): string[] =>
  sent.facts
    .filter((batch) => batch.session_id === session.sessionId)
    .flatMap((batch) => batch.facts.filter((fact): fact is UsageFact => fact.kind === "usage"))
    .map((fact) => fact.event.id);

const APPEND_POINTS = ["append:inserted", "append:written", "append:armed"] as const;

describe.each(APPEND_POINTS)("an object that dies at %s", (point) => {
  test("has the message once after the caller tries again", async () => {
    const session = await opened();
    await append(session, [message("a")]);
    await dies(session, point, () => append(session, [message("b")]));
    const { message_count: between } = await describeIt(session);
    expect([1, 2]).toContain(between);
    await append(session, [message("b")]);
    await append(session, [message("c")]);
    const page = valueOf(await session.rpc().readHistory({ view: "raw", order: "asc", limit: 10 }));
    expect(page.items.map((item) => item.meta.id)).toEqual(["a", "b", "c"]);
  });

  test("has all or nothing of a batch, its job and its key", async () => {
    const session = await opened();
    const batch = conversation(20, 20);
    const keyed = { rules: COMPACTING, idempotency: { key: "k", fingerprint: "f" } };
    await dies(session, point, () => append(session, batch, keyed));
    const { message_count: count, compaction } = await describeIt(session);
    expect([0, 20]).toContain(count);
    expect(compaction.state).toBe(count === 20 ? "queued" : "idle");
    const again = valueOf(await session.rpc().append({ messages: batch, source: "server", ...keyed }));
    expect(again.replayed).toBe(count === 20);
    expect(again.value.results.every((one) => one.inserted)).toBe(true);
    expect((await describeIt(session)).message_count).toBe(20);
    expect(await jobs(session)).toHaveLength(1);
  });
});

const PICTURE = { type: "file", mediaType: "image/png", url: `data:image/png;base64,${btoa("a picture")}` };
const WRITE = { source: "server", rules: COMPACTING } as const;

/** A session with an overlay over m1…, and a picture in m3. */
async function withOverlay(): Promise<TestSession> {
  const session = await opened();
  const messages = conversation(20, 20).map((one) => (one.id === "m3" ? { ...one, parts: [...one.parts, PICTURE] } : one));
  const { compaction_job_id: id } = await append(session, messages, { rules: COMPACTING });
  const { fence } = valueOf(await session.rpc().claimJob(id as JobId));
  valueOf(await session.rpc().commitJob(id as JobId, fence, { ...COMMIT, usage: [] }));
  return session;
}

/** Everything that an edit or a deletion changes. */
const changing = async (session: TestSession) => ({
  overlays: valueOf(await session.rpc().listOverlays({ limit: 10 })).items.map((one) => one.stale),
  raw: valueOf(await session.rpc().readHistory({ view: "raw", order: "asc", limit: 100, attachments: "inline" })).items.map(
    (item) => item.json,
  ),
  tokens: (await describeIt(session)).token_estimate,
  media: await runInDurableObject(session.newStub(), (_instance, { storage }) =>
    ["media", "media_refs"].map((table) => storage.sql.exec(`SELECT count(*) AS rows FROM ${table}`).one()["rows"]),
  ),
});

const CHANGES = {
  edit: (session: TestSession) => session.rpc().putMessage({ message: message("m3", "no picture"), ...WRITE }),
  removal: (session: TestSession) =>
    session.rpc().deleteMessages({ ids: ["m3"], idempotency: { key: "k", fingerprint: "f" }, ...WRITE }),
};

describe.each([
  ["edit", "edit:replaced"],
  ["edit", "append:written"],
  ["removal", "remove:removed"],
  ["removal", "append:armed"],
] as const)("an %s that dies at %s", (kind, point) => {
  test("is there whole or not at all, and whole when it is repeated", async () => {
    const [session, other] = [await withOverlay(), await withOverlay()];
    const before = await changing(session);
    valueOf<unknown, unknown>(await CHANGES[kind](other));
    const after = await changing(other);
    expect(after).not.toEqual(before);
    await dies(session, point, () => CHANGES[kind](session));
    expect([before, after]).toContainEqual(await changing(session));
    valueOf<unknown, unknown>(await CHANGES[kind](session));
    expect(await changing(session)).toEqual(after);
  });
});

test.each(["append:written", "append:armed"] as const)("usage that dies at %s counts once after a repetition", async (point) => {
  const session = await opened();
  await dies(session, point, () => session.rpc().recordUsage({ events: [usage("u")] }));
  valueOf(await session.rpc().recordUsage({ events: [usage("u")] }));
  expect((await describeIt(session)).usage.events).toBe(1);
  await until("the fact is sent", () => sentUsage(session).includes("u"));
});

test.each(["drain:begun", "drain:woken", "drain:sent"] as const)("a drain that dies at %s loses no fact", async (point) => {
  const session = await opened();
  await append(session, conversation(20, 20), { rules: COMPACTING });
  valueOf(await session.rpc().recordUsage({ events: [usage("u")] }));
  await session.rpc().armFault(point);
  await runDurableObjectAlarm(session.stub).catch(() => undefined);
  sent.facts.length = 0;
  sent.wakeUps.length = 0;
  // Contact revives it, whatever became of the alarm.
  await describeIt(session);
  await until("the facts are sent again", () => sentUsage(session).includes("u"));
  if (point !== "drain:sent") await until("the job is announced", () => sent.wakeUps.length > 0);
});

test("a claim that dies leaves one open job, which the next claim gets", async () => {
  const session = await opened();
  const { compaction_job_id: id } = await append(session, conversation(20, 20), { rules: COMPACTING });
  await dies(session, "claim:written", () => session.rpc().claimJob(id as JobId));
  const [job, ...others] = await jobs(session);
  expect(others).toEqual([]);
  const claimed = await session.rpc().claimJob(id as JobId);
  if (job?.state === "queued") expect(claimed.ok).toBe(true);
  else expect(claimed).toMatchObject({ ok: false, error: { code: "leased" } });
});

const COMMIT_POINTS = ["commit:before", "commit:recorded", "commit:summarised", "commit:written"] as const;

test.each(COMMIT_POINTS)("a commit that dies at %s is there whole or not at all", async (point) => {
  const session = await opened();
  const { compaction_job_id: id } = await append(session, conversation(20, 20), { rules: COMPACTING });
  const { fence } = valueOf(await session.rpc().claimJob(id as JobId));
  await dies(session, point, () => session.rpc().commitJob(id as JobId, fence, COMMIT));
  const parts = async () => [
    valueOf(await session.rpc().getJob(id as JobId)).state === "applied" ? 1 : 0,
    valueOf(await session.rpc().listOverlays({ limit: 10 })).items.length,
    (await describeIt(session)).usage.events,
  ];
  const before = await parts();
  expect([
    [0, 0, 0],
    [1, 1, 1],
  ]).toContainEqual(before);
  const again = await session.rpc().commitJob(id as JobId, fence, COMMIT);
  expect(again.ok).toBe(before[0] === 0);
  expect(await parts()).toEqual([1, 1, 1]);
});

test("a failure that dies is recorded once when it is reported again", async () => {
  const session = await opened();
  const { compaction_job_id: id } = await append(session, conversation(20, 20), { rules: COMPACTING });
  const { fence } = valueOf(await session.rpc().claimJob(id as JobId));
  const failure = { outcome: "retry", error: { code: "c", detail: "d" }, model: null, usage: COMMIT.usage } as const;
  await dies(session, "fail:written", () => session.rpc().failJob(id as JobId, fence, failure));
  await session.rpc().failJob(id as JobId, fence, failure);
  expect((await describeIt(session)).usage.events).toBe(1);
  expect(valueOf(await session.rpc().getJob(id as JobId)).state).toBe("queued");
});

test("points that are off can't be armed and cost nothing", () => {
  const points = new FaultPoints(false, () => {
    throw new Error("it died");
  });
  expect(() => points.arm("append:written")).toThrow("fault points are off");
  points.hit("append:written");
});

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { FactBatch, JobFact, UsageFact } from "@sessionplane/shared/queue/fact";
import type { JobId } from "@sessionplane/shared/ids";
import type { TenantRules } from "@sessionplane/shared/rpc/session-rpc";
import { type Sent, watchQueues } from "../testing/queues.ts";
import { RULES, type TestSession, append, conversation, message, opened, until, usage, valueOf } from "../testing/session.ts";

const COMPACTING: TenantRules = {
  ...RULES,
  compaction: { threshold: 300, keep_recent_tokens: 60, protect_head: 1, cooldown_messages: 1 },
};

let sent: Sent;
beforeEach(() => {
  sent = watchQueues();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** The objects' clock, with everything else as it is. */
const setClock = (instant: number): void => {
  vi.useFakeTimers({ toFake: ["Date"], now: instant });
};

const drain = ({ stub }: TestSession) => runDurableObjectAlarm(stub);
const batchesOf = (session: TestSession): FactBatch[] => sent.facts.filter((batch) => batch.session_id === session.sessionId);
const usageIds = (batches: readonly FactBatch[]): string[] =>
  batches.flatMap((batch) => batch.facts.filter((fact): fact is UsageFact => fact.kind === "usage").map((fact) => fact.event.id));
const confirm = (session: TestSession, { after_seq: after, to_seq: to }: FactBatch) => session.rpc().projected(after, to);
const mark = (session: TestSession): Promise<number> =>
  runInDurableObject(
    session.stub,
    (_instance, { storage }) =>
      storage.sql.exec<{ projected_seq: number }>("SELECT projected_seq FROM session").one().projected_seq,
  );
const armedAt = (session: TestSession): Promise<number | null> =>
  runInDurableObject(session.stub, (_instance, { storage }) => storage.getAlarm());

const record = async (session: TestSession, ids: readonly string[], raw = "{}") =>
  valueOf(await session.rpc().recordUsage({ events: ids.map((id) => usage(id, { raw_usage: raw })) }));

describe("the drain", () => {
  test("comes by itself after a write and tells the session whole", async () => {
    const session = await opened();
    await append(session, [message("a"), message("b")]);
    await record(session, ["u"]);
    await until("the facts are sent", () => usageIds(batchesOf(session)).length > 0);
    const batches = batchesOf(session);
    expect(batches.at(-1)?.facts.at(-1)).toMatchObject({
      kind: "session",
      seq: batches.at(-1)?.to_seq,
      leaf_id: "b",
      message_count: 2,
      usage: { events: 1, billed_nano: 3_000_000 },
    });
  });

  test("covers the log without a gap, each message small enough for the queue", async () => {
    const session = await opened();
    const ids = Array.from({ length: 120 }, (_, index) => `u${index}`);
    for (let at = 0; at < ids.length; at += 40) {
      await append(session, [message(`m${at}`)]);
      await record(session, ids.slice(at, at + 40), JSON.stringify("x".repeat(16_000)));
    }
    while (batchesOf(session).at(-1)?.facts.at(-1)?.kind !== "session") await drain(session);
    const batches = batchesOf(session);
    expect(usageIds(batches)).toEqual(ids);
    expect(batches.length).toBeGreaterThan(10);
    batches.forEach((batch, index) => {
      expect(batch.after_seq).toBe(batches[index - 1]?.to_seq ?? 0);
      expect(JSON.stringify(batch).length).toBeLessThan(128_000);
    });
  });

  test("does nothing once everything is confirmed", async () => {
    const session = await opened();
    await append(session, [message("a")]);
    await drain(session);
    for (const batch of batchesOf(session)) await confirm(session, batch);
    const before = sent.facts.length;
    await drain(session);
    expect(sent.facts.length).toBe(before);
    expect(await armedAt(session)).toBeNull();
  });

  test("arms the alarm once for many appends", async () => {
    const session = await opened();
    const arms = await runInDurableObject(session.stub, async (instance, { storage }) => {
      const setAlarm = vi.spyOn(Object.getPrototypeOf(storage) as DurableObjectStorage, "setAlarm");
      for (const one of conversation(50)) await instance.append({ messages: [one], source: "server", rules: RULES });
      return setAlarm.mock.calls.length;
    });
    expect(arms).toBeLessThanOrEqual(1);
  });
});

describe("the mark", () => {
  test("moves only over what is confirmed without a gap, in whatever order", async () => {
    const session = await opened();
    for (const id of ["a", "b", "c"]) {
      await append(session, [message(id)]);
      await drain(session);
    }
    const [first, second, third] = batchesOf(session);
    if (!first || !second || !third) throw new Error("fewer than three batches");
    await confirm(session, third);
    expect(await mark(session)).toBe(0);
    await confirm(session, first);
    expect(await mark(session)).toBe(first.to_seq);
    await confirm(session, second);
    await confirm(session, first);
    expect(await mark(session)).toBe(third.to_seq);
  });

  test("survives eviction; confirmations that came early are asked for again", async () => {
    const session = await opened();
    for (const id of ["a", "b"]) {
      await append(session, [message(id)]);
      await drain(session);
    }
    const [first, second] = batchesOf(session);
    if (!first || !second) throw new Error("fewer than two batches");
    await confirm(session, second);
    await evictDurableObject(session.stub);
    await confirm(session, first);
    expect(await mark(session)).toBe(first.to_seq);
    await drain(session);
    const again = batchesOf(session).at(-1);
    expect(again).toMatchObject({ after_seq: first.to_seq, to_seq: second.to_seq });
  });
});

describe("what is not confirmed", () => {
  test("is sent again after half a minute, also while new facts keep coming", async () => {
    const session = await opened();
    await record(session, ["lost"]);
    await drain(session);
    sent.facts.length = 0;
    const start = Date.now();
    for (let second = 5; second <= 35; second += 5) {
      setClock(start + second * 1_000);
      await record(session, [`u${second}`]);
      await drain(session);
      expect(usageIds(batchesOf(session)).includes("lost")).toBe(second >= 30);
    }
  });

  test("is not sent again while the catalog gets on", async () => {
    const session = await opened();
    await record(session, ["a"]);
    await drain(session);
    const start = Date.now();
    await record(session, ["b"]);
    setClock(start + 20_000);
    await drain(session);
    const [first] = batchesOf(session);
    if (!first) throw new Error("no batch");
    await confirm(session, first);
    setClock(start + 40_000);
    await drain(session);
    expect(usageIds(batchesOf(session))).toEqual(["a", "b"]);
    setClock(start + 60_000);
    await drain(session);
    expect(usageIds(batchesOf(session))).toEqual(["a", "b", "b"]);
  });

  test("is sent after an eviction: the constructor arms the alarm", async () => {
    const session = await opened();
    await record(session, ["a"]);
    await runInDurableObject(session.stub, (_instance, { storage }) => storage.deleteAlarm());
    await evictDurableObject(session.stub);
    await session.rpc().describe(RULES);
    await until("the fact is sent", () => usageIds(batchesOf(session)).includes("a"));
  });
});

test("a queue that is down loses nothing, and does not hold the other back", async () => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  const session = await opened();
  sent.down = "facts";
  const { compaction_job_id: job } = await append(session, conversation(20, 20), { rules: COMPACTING });
  await record(session, ["a"]);
  await drain(session);
  expect(sent.wakeUps.map((wakeUp) => wakeUp.job_id)).toEqual([job]);
  expect(log).toHaveBeenCalled();
  expect(await armedAt(session)).toBeGreaterThan(Date.now() + 3_000);
  sent.down = null;
  await drain(session);
  expect(usageIds(batchesOf(session))).toEqual(["a"]);
});

test("repair sends every fact again, from the first", async () => {
  const session = await opened();
  await record(session, ["a", "b"]);
  await drain(session);
  for (const batch of batchesOf(session)) await confirm(session, batch);
  sent.facts.length = 0;
  expect(valueOf(await session.rpc().repair())).toBe(3);
  await drain(session);
  expect(batchesOf(session)).toMatchObject([{ after_seq: 0, to_seq: 3 }]);
  expect(usageIds(batchesOf(session))).toEqual(["a", "b"]);
});

describe("a job", () => {
  test("is told with each change, under a higher number", async () => {
    const session = await opened();
    const { compaction_job_id: id } = await append(session, conversation(20, 20), { rules: COMPACTING });
    await drain(session);
    const { fence } = valueOf(await session.rpc().claimJob(id as JobId));
    await drain(session);
    const commit = { summary: "short", model: "m", retention: null, usage: [usage("call", { purpose: "compaction" })] };
    valueOf(await session.rpc().commitJob(id as JobId, fence, commit));
    await drain(session);
    const facts = batchesOf(session).flatMap((batch) => batch.facts.filter((fact): fact is JobFact => fact.kind === "job"));
    expect(facts.map((fact) => fact.job.state)).toEqual(["queued", "running", "applied"]);
    expect(facts.map((fact) => fact.seq)).toEqual(facts.map((fact) => fact.seq).toSorted((a, b) => a - b));
    expect(facts.at(-1)?.job).toEqual(valueOf(await session.rpc().getJob(id as JobId)));
    expect(usageIds(batchesOf(session))).toEqual(["call"]);
  });

  test("is announced again when nobody claimed it within a minute, and not before", async () => {
    const session = await opened();
    await append(session, conversation(20, 20), { rules: COMPACTING });
    await drain(session);
    const start = Date.now();
    const announced = () => sent.wakeUps.filter((wakeUp) => wakeUp.session_id === session.sessionId).length;
    expect(announced()).toBe(1);
    setClock(start + 50_000);
    await append(session, [message("x")]);
    await drain(session);
    expect(announced()).toBe(1);
    setClock(start + 61_000);
    await append(session, [message("y")]);
    await drain(session);
    expect(announced()).toBe(2);
  });
});

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { parseId } from "@sessionplane/shared/ids";
import type { TenantRules } from "@sessionplane/shared/rpc/session-rpc";
import { RULES, type TestSession, append, errorOf, message, open, opened, unopened, usage, valueOf } from "./testing/session.ts";

const describeIt = async (session: TestSession, rules: TenantRules = RULES) => valueOf(await session.rpc().describe(rules));

test("opening is idempotent: a second call changes nothing", async () => {
  const session = await opened({ name: "first" });
  await append(session, [message("a")]);
  const before = await describeIt(session);
  expect(valueOf(await open(session, { name: "second" }))).toEqual(before);
  await evictDurableObject(session.stub);
  expect(valueOf(await open(session, { name: "third" }))).toEqual(before);
  expect(before).toMatchObject({ name: "first", revision: 1, message_count: 1, created_at: "2026-01-01T00:00:00.000Z" });
});

test("what was never opened refuses everything and stores nothing", async () => {
  const session = unopened();
  const job = parseId("job", "job_01m8njhpeqfqevy1hhgmpwnanv");
  if (job === null) throw new Error("not a job id");
  const page = { view: "raw", order: "asc", limit: 10 } as const;
  const rpc = session.rpc();
  const refusals = await Promise.all([
    rpc.describe(RULES),
    rpc.patch({ patch: { name: "x" }, rules: RULES }),
    rpc.end({ reason: "x", rules: RULES }),
    rpc.append({ messages: [message("a")], source: "server", rules: RULES }),
    rpc.readHistory(page),
    rpc.streamHistory(page),
    rpc.getMessage({ id: "a" }),
    rpc.recordUsage({ events: [usage("u")] }),
    rpc.readUsage(),
    rpc.listUsageEvents({ limit: 1 }),
    rpc.requestCompaction({ rules: RULES }),
    rpc.listOverlays({ limit: 1 }),
    rpc.listJobs({ limit: 1 }),
    rpc.getJob(job),
    rpc.cancelJob({ job_id: job }),
    rpc.repair(),
    rpc.claimJob(job),
    rpc.readJobRange(job, 1, 0),
    rpc.commitJob(job, 1, { summary: "s", model: "m", retention: null, usage: [] }),
    rpc.failJob(job, 1, { outcome: "fail", error: { code: "c", detail: "d" }, model: null, usage: [] }),
    rpc.deadLetterJob(job),
  ]);
  await rpc.projected(0, 5);
  expect(new Set(refusals.map((one) => errorOf<unknown, { code: string }>(one).code))).toEqual(new Set(["not_found"]));
  await runInDurableObject(session.stub, async (_instance, state) => {
    expect(state.storage.sql.exec("SELECT name FROM sqlite_master").toArray()).toEqual([]);
    expect(await state.storage.getAlarm()).toBeNull();
  });
});

test("an object does not become another session's", async () => {
  const session = await opened();
  const other = { ...session, sessionId: unopened().sessionId };
  // Inside the object: a rejection that crosses RPC is reported a second time, as unhandled.
  await runInDurableObject(session.stub, (instance) =>
    expect(open({ ...other, rpc: () => instance })).rejects.toThrow("another session"),
  );
});

describe("patch", () => {
  test("merges metadata, deletes on null, and moves the revision", async () => {
    const session = await opened({ metadata: { keep: "1", drop: "2" } });
    const patch = { name: "new", metadata: { drop: null, add: "3" }, compaction: { threshold: 50_000 } };
    const { value } = valueOf(await session.rpc().patch({ patch, rules: RULES }));
    expect(value).toMatchObject({ name: "new", metadata: { keep: "1", add: "3" }, revision: 2 });
    expect(value.metadata).not.toHaveProperty("drop");
    await evictDurableObject(session.stub);
    expect(await describeIt(session)).toMatchObject({ name: "new", revision: 2, compaction: { threshold: 50_000 } });
  });

  test("is refused at another revision, which messages and usage do not move", async () => {
    const session = await opened();
    await append(session, [message("a")]);
    valueOf(await session.rpc().recordUsage({ events: [usage("u")] }));
    valueOf(await session.rpc().patch({ patch: { name: "b" }, if_match: 1, rules: RULES }));
    const refused = await session.rpc().patch({ patch: { name: "c" }, if_match: 1, rules: RULES });
    expect(errorOf(refused).code).toBe("precondition_failed");
    expect(await describeIt(session)).toMatchObject({ name: "b", revision: 2 });
  });

  test("refuses a policy that contradicts itself beside the tenant's", async () => {
    const session = await opened();
    const rules = { ...RULES, compaction: { keep_recent_tokens: 5_000 } };
    const refused = errorOf(await session.rpc().patch({ patch: { compaction: { threshold: 3_000 } }, rules }));
    expect(refused).toMatchObject({ code: "invalid", errors: [{ pointer: "/compaction/keep_recent_tokens" }] });
    expect((await describeIt(session)).revision).toBe(1);
  });

  test("counts once with an idempotency key", async () => {
    const session = await opened();
    const input = { patch: { name: "n" }, if_match: 1, rules: RULES, idempotency: { key: "k", fingerprint: "f" } };
    expect(valueOf(await session.rpc().patch(input)).replayed).toBe(false);
    const again = valueOf(await session.rpc().patch(input));
    expect([again.replayed, again.value.revision]).toEqual([true, 2]);
  });
});

test("a second end keeps the first reason and is no change", async () => {
  const session = await opened();
  valueOf(await session.rpc().end({ reason: "first", rules: RULES }));
  const again = valueOf(await session.rpc().end({ reason: "second", rules: RULES }));
  expect(again.value).toMatchObject({ status: "ended", end_reason: "first", revision: 2 });
});

/** What reaches a job twice, too late or in the wrong order, and what changes under it. */
import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { JobId } from "@sessionplane/shared/ids";
import {
  COMMIT,
  MANUAL,
  POLICY,
  SMALL,
  billed,
  claim,
  commit,
  due,
  edit,
  failure,
  jobs,
  newest,
  once,
  overlays,
  remove,
  setClock,
  shown,
  state,
  told,
} from "../testing/jobs.ts";
import { watchQueues } from "../testing/queues.ts";
import { RULES, append, conversation, errorOf, message, opened, usage, valueOf } from "../testing/session.ts";

beforeEach(() => void watchQueues());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("a report that comes again because its reply was lost", () => {
  test.each(["retry", "reject"] as const)("counts a failure to %s once", async (outcome) => {
    const { session, id } = await due();
    const { fence } = await claim(session, id);
    const report = failure(outcome, { usage: [usage("call")] });
    const first = valueOf(await session.rpc().failJob(id, fence, report));
    expect(first.state).toBe("queued");
    expect(valueOf(await session.rpc().failJob(id, fence, report))).toEqual(first);
    expect(await billed(session)).toBe(1);
    expect(await told(session, id)).toEqual(["queued", "running", "queued"]);
    expect(await commit(session, id)).toMatchObject({ state: "applied", attempts: 2 });
  });

  test("of a failure takes nothing from the compactor that came after", async () => {
    const { session, id } = await due();
    const { fence } = await claim(session, id);
    valueOf(await session.rpc().failJob(id, fence, failure("retry")));
    const second = await claim(session, id);
    expect(errorOf(await session.rpc().failJob(id, fence, failure("retry"))).code).toBe("fence_lost");
    expect(errorOf(await session.rpc().commitJob(id, fence, COMMIT)).code).toBe("fence_lost");
    expect(valueOf(await session.rpc().commitJob(id, second.fence, COMMIT)).state).toBe("applied");
  });

  test("of a summary is told, billed and stored once", async () => {
    const { session, id } = await due();
    const { fence } = await claim(session, id);
    const calls = [usage("call")];
    valueOf(await session.rpc().commitJob(id, fence, { ...COMMIT, usage: calls }));
    expect(errorOf(await session.rpc().commitJob(id, fence, { ...COMMIT, usage: calls })).code).toBe("not_open");
    valueOf(await session.rpc().recordJobUsage(id, calls));
    expect(await billed(session)).toBe(1);
    expect(await told(session, id)).toEqual(["queued", "running", "applied"]);
    expect(await overlays(session)).toHaveLength(1);
  });
});

describe("a compactor that was away", () => {
  test("may still commit while nobody else has the job, and the next wake-up finds it done", async () => {
    const { session, id } = await due();
    const { fence, lease_expires_at: lease } = await claim(session, id);
    setClock(lease + 1);
    await runDurableObjectAlarm(session.stub);
    expect((await newest(session)).state).toBe("queued");
    expect(valueOf(await session.rpc().commitJob(id, fence, COMMIT)).state).toBe("applied");
    expect(errorOf(await session.rpc().claimJob(id)).code).toBe("not_open");
    expect(await overlays(session)).toHaveLength(1);
  });

  test("is billed for its calls when another has the job, and neither call twice", async () => {
    const { session, id } = await due();
    const first = await claim(session, id);
    setClock(first.lease_expires_at + 1);
    await commit(session, id, { usage: [usage("second")] });
    expect(errorOf(await session.rpc().commitJob(id, first.fence, COMMIT)).code).toBe("fence_lost");
    for (let again = 0; again < 2; again++) valueOf(await session.rpc().recordJobUsage(id, [usage("first")]));
    expect(await billed(session)).toBe(2);
  });

  test("can't hold on to a job that was cancelled or has failed", async () => {
    for (const end of ["cancel", "bury"] as const) {
      const { session, id } = await due();
      const { fence, lease_expires_at: lease } = await claim(session, id);
      if (end === "cancel") valueOf(await session.rpc().cancelJob({ job_id: id }));
      else {
        setClock(lease + 1);
        valueOf(await session.rpc().deadLetterJob(id));
      }
      expect(errorOf(await session.rpc().renewLease(id, fence)).code).toMatch(/fence_lost|not_open/);
      valueOf(await session.rpc().retryJob({ job_id: id }));
      expect(errorOf(await session.rpc().renewLease(id, fence)).code).toBe("fence_lost");
      expect(errorOf(await session.rpc().commitJob(id, fence, COMMIT)).code).toBe("fence_lost");
      expect((await commit(session, id)).state).toBe("applied");
      vi.useRealTimers();
    }
  });

  test("keeps its job when the queue gives up on an older wake-up", async () => {
    const { session, id } = await due();
    const { fence } = await claim(session, id);
    expect(errorOf(await session.rpc().deadLetterJob(id)).code).toBe("leased");
    expect(valueOf(await session.rpc().commitJob(id, fence, COMMIT)).state).toBe("applied");
  });

  test("and another, and another, are no endless series: the job is given up", async () => {
    const { session, id } = await due();
    let claims = 0;
    for (; (await newest(session)).state === "queued" && claims < 50; claims++) {
      const { lease_expires_at: lease } = await claim(session, id);
      setClock(lease + 1);
      await runDurableObjectAlarm(session.stub);
    }
    expect(claims).toBeLessThanOrEqual(10);
    expect(await newest(session)).toMatchObject({ state: "failed", error: { code: "gave_up" } });
    valueOf(await session.rpc().retryJob({ job_id: id }));
    expect((await commit(session, id)).state).toBe("applied");
  });
});

describe("a range that changes", () => {
  test("before anybody has the job is planned again when someone takes it: no call is made in vain", async () => {
    const { session, id } = await due();
    await edit(session, "m4", "another text for the fourth");
    await remove(session, "m1", "m16");
    const { fence, ...job } = await claim(session, id);
    expect(job).toMatchObject({ from_id: "m2", to_id: "m15", messages: 14 });
    expect(JSON.stringify(valueOf(await session.rpc().readJobRange(id, fence, 0)).items)).toContain(
      "another text for the fourth",
    );
    expect(valueOf(await session.rpc().commitJob(id, fence, COMMIT))).toMatchObject({ state: "applied", messages: 14 });
  });

  test("until nothing is left to summarise ends its job without a call", async () => {
    const { session, id } = await due();
    await remove(session, ...conversation(16).map((one) => one.id));
    expect(errorOf(await session.rpc().claimJob(id)).code).toBe("not_open");
    expect(await jobs(session)).toMatchObject([{ id, state: "stale" }]);
  });

  test("and falls below the threshold is planned anew with what the branch has grown by", async () => {
    const session = await opened();
    const { compaction_job_id: id } = await append(session, conversation(16, 20), { rules: SMALL });
    const { fence } = await claim(session, String(id));
    await append(session, conversation(20, 20, "n"), { rules: SMALL });
    await remove(session, "m3", "m4");
    expect(valueOf(await session.rpc().commitJob(id as JobId, fence, COMMIT)).state).toBe("stale");
    expect(await newest(session)).toMatchObject({ state: "queued", trigger: "automatic", leaf_id: "n19", from_id: "m1" });
  });

  test("below its end changes nothing: not even when the leaf is deleted", async () => {
    const { session, id } = await due();
    const { fence } = await claim(session, id);
    await remove(session, "m19");
    await edit(session, "m18", "another text");
    expect(valueOf(await session.rpc().readJobRange(id, fence, 0)).items).toHaveLength(16);
    expect(valueOf(await session.rpc().commitJob(id, fence, COMMIT)).state).toBe("applied");
  });

  test("by a revert of a summary that it goes on from makes the job stale", async () => {
    const { session, id } = await due();
    const { overlay_id: fed } = await commit(session, id);
    const { compaction_job_id: second } = await append(session, conversation(20, 20, "n"), { rules: SMALL });
    const { fence } = await claim(session, String(second));
    valueOf(await session.rpc().deleteOverlay({ overlay_id: String(fed), idempotency: once() }));
    expect(valueOf(await session.rpc().commitJob(second as JobId, fence, COMMIT)).state).toBe("stale");
    const next = await newest(session);
    expect(next).toMatchObject({ state: "queued", from_id: "m1" });
    const { fence: third } = await claim(session, next.id);
    const read = valueOf(await session.rpc().readJobRange(next.id as JobId, third, 0));
    expect(read.items.every((item) => item.kind === "message")).toBe(true);
  });
});

describe("a request", () => {
  test("for another branch than the open job's is told so, and not given that job", async () => {
    const { session, id } = await due();
    await append(session, conversation(20, 20, "s"), { parent_id: "m0", rules: MANUAL });
    for (const overflow of [false, true]) {
      const refused = errorOf(await session.rpc().requestCompaction({ rules: MANUAL, overflow }));
      expect(refused).toMatchObject({ code: "job_open", fields: { job_id: id } });
    }
    expect(valueOf(await session.rpc().requestCompaction({ rules: MANUAL, leaf_id: "m19" })).value.id).toBe(id);
  });

  test("finds nothing when everything is pinned", async () => {
    const { session, id } = await due();
    valueOf(await session.rpc().cancelJob({ job_id: id }));
    const pinned = conversation(20).map((one) => one.id);
    const rules = { ...RULES, compaction: { ...POLICY, pinned } };
    expect(errorOf(await session.rpc().requestCompaction({ rules }))).toMatchObject({
      ...{ code: "nothing_to_compact", fields: { reason: "nothing_to_replace" } },
    });
    expect((await append(session, [message("next")], { rules })).compaction_job_id).toBeNull();
  });
});

describe("the end of the session", () => {
  test("ends its job; what the compactor has spent is kept, and nothing else", async () => {
    const { session, id } = await due();
    const { fence } = await claim(session, id);
    valueOf(await session.rpc().end({ reason: "done", rules: RULES }));
    expect(valueOf(await session.rpc().getJob(id))).toMatchObject({ state: "cancelled", error: { code: "session_ended" } });
    expect(errorOf(await session.rpc().commitJob(id, fence, COMMIT)).code).toBe("fence_lost");
    valueOf(await session.rpc().recordJobUsage(id, [usage("call")]));
    await evictDurableObject(session.stub);
    expect(await billed(session)).toBe(1);
    expect(await shown(session)).toHaveLength(20);
    expect(await state(session)).toBe("idle");
    expect(errorOf(await session.rpc().retryJob({ job_id: id })).code).toBe("session_ended");
  });
});

test("clearing ends the open job, and its compactor can write no more", async () => {
  const { session, id } = await due();
  const { fence } = await claim(session, id);
  valueOf(await session.rpc().clearMessages({ source: "server", idempotency: once() }));
  expect(errorOf(await session.rpc().commitJob(id, fence, COMMIT)).code).toBe("not_open");
  expect(errorOf(await session.rpc().claimJob(id)).code).toBe("not_open");
  expect([await shown(session), await overlays(session), await state(session)]).toEqual([[], [], "idle"]);
});

test("a frozen prompt weighs as much as messages: what is sent beside the history makes a compaction due", async () => {
  const session = await opened();
  const block = { kind: "readonly" as const, content: "You are careful. ".repeat(100) };
  valueOf(await session.rpc().putBlock({ label: "soul", block, idempotency: once() }));
  expect((await append(session, conversation(14, 20), { rules: SMALL })).compaction_job_id).toBeNull();
  valueOf(await session.rpc().readPrompt());
  expect((await append(session, [message("next")], { rules: SMALL })).compaction_job_id).toMatch(/^job_/);
});

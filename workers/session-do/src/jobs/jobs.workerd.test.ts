import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { JobId } from "@sessionplane/shared/ids";
import { COMMIT, MANUAL, POLICY, SMALL, claim, due, failure, jobs, setClock, shown, state } from "../testing/jobs.ts";
import { type Sent, watchQueues } from "../testing/queues.ts";
import { RULES, type TestSession, append, conversation, errorOf, message, opened, usage, valueOf } from "../testing/session.ts";

let sent: Sent;
beforeEach(() => {
  sent = watchQueues();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("the trigger", () => {
  test("queues one job when the history passes the threshold, and no second one", async () => {
    const session = await opened();
    const rules = { rules: SMALL };
    const before = await append(session, conversation(15, 20, "a"), rules);
    expect([before.token_estimate, before.compaction_job_id]).toEqual([300, null]);
    const { compaction_job_id: id } = await append(session, [message("b")], rules);
    expect(id).toMatch(/^job_/);
    expect((await append(session, conversation(9, 20, "c"), rules)).compaction_job_id).toBe(id);
    expect(await jobs(session)).toMatchObject([
      { id, state: "queued", trigger: "automatic", from_id: "a1", cost: { amount: "0.000000000" } },
    ]);
  });

  test("does nothing when it is switched off, or when nothing was inserted", async () => {
    const session = await opened();
    await append(session, conversation(20, 20), { rules: MANUAL });
    await append(session, [message("m0")], { rules: SMALL });
    expect(await jobs(session)).toEqual([]);
  });

  test("does not read the history again on every append when a plan came to nothing", async () => {
    const session = await opened();
    const rules = { rules: { ...RULES, compaction: { ...POLICY, protect_head: 1_000 } } };
    await append(session, conversation(40, 20), rules);
    const scans = await runInDurableObject(session.stub, async (instance, { storage }) => {
      const exec = vi.spyOn(Object.getPrototypeOf(storage.sql) as SqlStorage, "exec");
      for (const one of conversation(8, 20, "n")) {
        await instance.append({ messages: [one], source: "server", ...rules });
      }
      return exec.mock.calls.filter(([sql]) => sql.includes("BETWEEN")).length;
    });
    expect(scans).toBeLessThanOrEqual(2);
  });

  test("plans at once when the policy has changed", async () => {
    const session = await opened();
    await append(session, conversation(40, 20), { rules: { ...RULES, compaction: { ...POLICY, protect_head: 1_000 } } });
    expect((await append(session, [message("x")], { rules: SMALL })).compaction_job_id).toMatch(/^job_/);
  });
});

describe("a job", () => {
  test("goes from claim to overlay, with what its calls cost", async () => {
    const { session, id } = await due();
    const { fence, lease_expires_at: lease, ...job } = await claim(session, id);
    expect(lease).toBeGreaterThan(Date.now());
    expect(job).toMatchObject({ job_id: id, attempt: 1, from_id: "m1", to_id: "m16", messages: 16, rejected_because: null });
    expect(await state(session)).toBe("running");
    const read = valueOf(await session.rpc().readJobRange(id, fence, 0));
    expect(read.items.map((item) => (item.kind === "message" ? item.message.id : item.kind))).toEqual(
      Array.from({ length: 16 }, (_, index) => `m${index + 1}`),
    );
    await append(session, [message("later")], { rules: SMALL });
    const applied = valueOf(await session.rpc().commitJob(id, fence, { ...COMMIT, usage: [usage("call")] }));
    expect(applied).toMatchObject({ state: "applied", tokens_before: 320, cost: { amount: "0.003000000" } });
    expect(await shown(session)).toEqual(["m0", `compaction_${applied.overlay_id}`, "m17", "m18", "m19", "later"]);
    await evictDurableObject(session.stub);
    expect(valueOf(await session.rpc().getJob(id))).toEqual(applied);
    expect(valueOf(await session.rpc().listOverlays({ limit: 10 })).items).toMatchObject([
      { id: applied.overlay_id, job_id: id, from_id: "m1", to_id: "m16", messages: 16, tokens_before: 320, tokens_after: 8 },
    ]);
    expect(valueOf(await session.rpc().readUsage()).usage.events).toBe(1);
    expect(await state(session)).toBe("idle");
  });

  test("is fed the overlay that its range swallows, and replaces it", async () => {
    const { session, id } = await due();
    const first = await claim(session, id);
    valueOf(await session.rpc().commitJob(id, first.fence, COMMIT));
    const { compaction_job_id: second } = await append(session, conversation(20, 20, "n"), { rules: SMALL });
    const next = await claim(session, second as JobId);
    const read = valueOf(await session.rpc().readJobRange(next.job_id, next.fence, 0));
    expect(read.items[0]).toMatchObject({ kind: "overlay", summary: "what was said" });
    valueOf(await session.rpc().commitJob(next.job_id, next.fence, { ...COMMIT, summary: "all of it" }));
    const history = await shown(session);
    expect(history.filter((one) => one.startsWith("compaction_"))).toHaveLength(1);
    expect(history.slice(0, 1)).toEqual(["m0"]);
  });

  test("is read in pages that leave nothing out", async () => {
    const session = await opened();
    await append(session, conversation(500, 10), { rules: MANUAL });
    const { value: job } = valueOf(await session.rpc().requestCompaction({ rules: MANUAL }));
    const { fence, messages } = await claim(session, job.id);
    let read = 0;
    for (let after: number | null = 0, pages = 0; after !== null; pages++) {
      const page: { items: readonly unknown[]; next_seq: number | null } = valueOf(
        await session.rpc().readJobRange(job.id as JobId, fence, after),
      );
      expect(page.items.length).toBeLessThanOrEqual(200);
      expect(pages).toBeLessThan(5);
      read += page.items.length;
      after = page.next_seq;
    }
    expect(read).toBe(messages);
  });
});

describe("the lease", () => {
  test("lets one compactor in, and the next when it has run out", async () => {
    const { session, id } = await due();
    const first = await claim(session, id);
    expect(errorOf(await session.rpc().claimJob(id)).code).toBe("leased");
    setClock(first.lease_expires_at + 1);
    const second = await claim(session, id);
    expect(second.fence).toBeGreaterThan(first.fence);
    expect(second.attempt).toBe(2);
    expect(errorOf(await session.rpc().commitJob(id, first.fence, COMMIT)).code).toBe("fence_lost");
    expect(errorOf(await session.rpc().failJob(id, first.fence, failure("fail"))).code).toBe("fence_lost");
    expect(errorOf(await session.rpc().readJobRange(id, first.fence, 0)).code).toBe("fence_lost");
    expect(valueOf(await session.rpc().commitJob(id, second.fence, COMMIT)).state).toBe("applied");
  });

  test("holds over an eviction", async () => {
    const { session, id } = await due();
    const { fence } = await claim(session, id);
    await evictDurableObject(session.stub);
    expect(errorOf(await session.rpc().claimJob(id)).code).toBe("leased");
    expect(valueOf(await session.rpc().commitJob(id, fence, COMMIT)).state).toBe("applied");
  });

  test("of a dead compactor is ended by the alarm, which wakes another", async () => {
    const { session, id } = await due();
    const { lease_expires_at: lease } = await claim(session, id);
    sent.wakeUps.length = 0;
    setClock(lease + 1);
    await runDurableObjectAlarm(session.stub);
    expect(sent.wakeUps).toEqual([{ v: 1, tenant_id: session.tenantId, session_id: session.sessionId, job_id: id }]);
    expect((await jobs(session)).map((job) => job.state)).toEqual(["queued"]);
  });

  test("of a job that is done is refused", async () => {
    const { session, id } = await due();
    const { fence } = await claim(session, id);
    valueOf(await session.rpc().commitJob(id, fence, COMMIT));
    expect(errorOf(await session.rpc().claimJob(id)).code).toBe("not_open");
    expect(errorOf(await session.rpc().commitJob(id, fence, COMMIT)).code).toBe("not_open");
    expect(valueOf(await session.rpc().listOverlays({ limit: 10 })).items).toHaveLength(1);
  });
});

describe("a failure", () => {
  test("that may pass makes the job claimable again, and keeps what the call cost", async () => {
    const { session, id } = await due();
    const { fence } = await claim(session, id);
    const failed = failure("retry", { usage: [usage("call")] });
    expect(valueOf(await session.rpc().failJob(id, fence, failed))).toMatchObject({
      state: "queued",
      attempts: 1,
      cost: { amount: "0.003000000" },
      error: { detail: "retry it" },
    });
    expect((await claim(session, id)).attempt).toBe(2);
  });

  test("of the summary is told to the next attempt; a second one ends the job", async () => {
    const { session, id } = await due();
    const first = await claim(session, id);
    expect(valueOf(await session.rpc().failJob(id, first.fence, failure("reject"))).state).toBe("queued");
    const second = await claim(session, id);
    expect(second.rejected_because).toBe("reject it");
    expect(valueOf(await session.rpc().failJob(id, second.fence, failure("reject"))).state).toBe("rejected");
  });

  test("three times in a row suspends automatic compaction until someone asks by hand", async () => {
    const { session, id } = await due();
    let next: JobId | null = id;
    for (let failures = 0; failures < 3; failures++) {
      const { fence } = await claim(session, next as JobId);
      valueOf(await session.rpc().failJob(next as JobId, fence, failure("fail")));
      next = (await append(session, [message(`after${failures}`)], { rules: SMALL })).compaction_job_id as JobId | null;
    }
    expect(next).toBeNull();
    await evictDurableObject(session.stub);
    expect(await state(session)).toBe("suspended");
    const { value: job } = valueOf(await session.rpc().requestCompaction({ rules: SMALL }));
    expect(job).toMatchObject({ state: "queued", trigger: "manual" });
    const { fence } = await claim(session, job.id);
    valueOf(await session.rpc().failJob(job.id as JobId, fence, failure("fail")));
    expect(await state(session)).toBe("idle");
  });

  test("of the queue ends the job", async () => {
    const { session, id } = await due();
    expect(valueOf(await session.rpc().deadLetterJob(id))).toMatchObject({ state: "failed", error: { code: "gave_up" } });
    expect(errorOf(await session.rpc().deadLetterJob(id)).code).toBe("not_open");
  });
});

/** An overlay that appears while the job is at work, put there behind the object's back. */
async function addOverlay(session: TestSession, from: string, to: string): Promise<void> {
  await evictDurableObject(session.stub);
  await runInDurableObject(session.stub, (_instance, { storage }) => {
    storage.sql.exec(
      `INSERT INTO overlays SELECT 5000, 'ovl_x', a.seq, b.seq, a.id, b.id, 'by hand', 3, 60, 5, NULL, NULL, NULL, 1, 0
       FROM messages a, messages b WHERE a.id = ? AND b.id = ?`,
      from,
      to,
    );
  });
  await evictDurableObject(session.stub);
}

test("a job whose range has changed ends stale, keeps its cost, and is planned anew at once", async () => {
  const { session, id } = await due();
  const { fence } = await claim(session, id);
  await addOverlay(session, "m3", "m5");
  const stale = valueOf(await session.rpc().commitJob(id, fence, { ...COMMIT, usage: [usage("call")] }));
  expect(stale).toMatchObject({ state: "stale", overlay_id: null, cost: { amount: "0.003000000" } });
  const [next] = await jobs(session);
  expect(next).toMatchObject({ state: "queued", trigger: "automatic", from_id: "m1" });
  expect(await shown(session)).toContain("compaction_ovl_x");
  const again = await claim(session, next?.id as JobId);
  expect(valueOf(await session.rpc().commitJob(again.job_id, again.fence, COMMIT)).state).toBe("applied");
});

describe("by hand", () => {
  test("a request with an open job returns that job, and a repeated key the same one", async () => {
    const { session, id } = await due();
    const input = { rules: SMALL, idempotency: { key: "k", fingerprint: "f" } };
    expect(valueOf(await session.rpc().requestCompaction(input)).value.id).toBe(id);
    valueOf(await session.rpc().cancelJob({ job_id: id }));
    expect(valueOf(await session.rpc().requestCompaction(input))).toMatchObject({
      replayed: true,
      value: { id, state: "cancelled" },
    });
  });

  test("compaction needs something to compact and a leaf that exists", async () => {
    const session = await opened();
    await append(session, conversation(3), { rules: MANUAL });
    expect(errorOf(await session.rpc().requestCompaction({ rules: MANUAL })).code).toBe("nothing_to_compact");
    const refused = errorOf(await session.rpc().requestCompaction({ rules: MANUAL, leaf_id: "x" }));
    expect(refused).toMatchObject({ code: "unknown_leaf", errors: [{ pointer: "/leaf_id" }] });
    expect(errorOf(await (await opened()).rpc().requestCompaction({ rules: MANUAL })).code).toBe("nothing_to_compact");
  });

  test("a policy that contradicts the tenant's later change is refused", async () => {
    const session = await opened({ compaction: { threshold: 30 } });
    await append(session, conversation(20, 20), { rules: SMALL });
    expect(errorOf(await session.rpc().requestCompaction({ rules: SMALL })).code).toBe("invalid");
  });

  test("a cancelled job lets its compactor write no more", async () => {
    const { session, id } = await due();
    const { fence } = await claim(session, id);
    expect(valueOf(await session.rpc().cancelJob({ job_id: id })).value.state).toBe("cancelled");
    expect(errorOf(await session.rpc().commitJob(id, fence, COMMIT)).code).toBe("fence_lost");
    expect(errorOf(await session.rpc().cancelJob({ job_id: id })).code).toBe("job_not_open");
    expect(await state(session)).toBe("idle");
  });
});

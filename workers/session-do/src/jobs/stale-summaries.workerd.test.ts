/** Summaries whose messages have changed, and summaries that are written again. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { JobId } from "@sessionplane/shared/ids";
import {
  COMMIT,
  MANUAL,
  SMALL,
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
  shown,
  state,
} from "../testing/jobs.ts";
import { watchQueues } from "../testing/queues.ts";
import { type TestSession, append, conversation, errorOf, message, opened, valueOf } from "../testing/session.ts";

beforeEach(() => void watchQueues());
afterEach(() => void vi.restoreAllMocks());

describe("a summary that does not hold any more", () => {
  test("is not what a later one goes on from: the messages are read again", async () => {
    const { session, id } = await due();
    await commit(session, id, { summary: "the old text" });
    await edit(session, "m4", "another text", MANUAL);
    await append(session, conversation(20, 20, "n"), { rules: MANUAL });
    const { value: job } = valueOf(await session.rpc().requestCompaction({ rules: MANUAL }));
    expect(job.from_id).toBe("m1");
    const { fence } = await claim(session, job.id);
    const read = valueOf(await session.rpc().readJobRange(job.id as JobId, fence, 0));
    expect(JSON.stringify(read.items)).not.toContain("the old text");
    expect(read.items).toHaveLength(job.messages);
    expect(valueOf(await session.rpc().commitJob(job.id as JobId, fence, COMMIT)).state).toBe("applied");
    expect((await shown(session)).filter((one) => one.startsWith("compaction_"))).toHaveLength(1);
  });

  test("is renewed three times at most when no new one will do", async () => {
    const { session, id } = await due();
    await commit(session, id);
    let { compaction_job_id: next } = await edit(session, "m4", "another text");
    let renewals = 0;
    for (; next !== null && renewals < 10; renewals++) {
      for (let attempt = 0; attempt < 2; attempt++) {
        const { fence } = await claim(session, next);
        valueOf(await session.rpc().failJob(next as JobId, fence, failure("reject")));
      }
      ({ compaction_job_id: next } = await append(session, [message(`after${renewals}`)], { rules: SMALL }));
    }
    expect(renewals).toBe(3);
    expect(await state(session)).toBe("suspended");
    expect(await shown(session)).toContain(`compaction_${(await overlays(session))[0]?.id}`);
  });

  test("on another branch keeps nothing from being compacted on this one", async () => {
    const { session, id } = await due();
    await commit(session, id);
    await append(session, [message("side")], { parent_id: "m0", rules: MANUAL });
    await edit(session, "m4", "another text", MANUAL);
    const { compaction_job_id: next } = await append(session, conversation(20, 20, "s"), { rules: SMALL });
    expect(valueOf(await session.rpc().getJob(String(next)))).toMatchObject({ trigger: "automatic", leaf_id: "s19" });
    expect((await commit(session, String(next))).state).toBe("applied");
  });

  test("and was dropped is made anew of what is left, also when that begins elsewhere", async () => {
    const session = await opened();
    const { compaction_job_id: id } = await append(session, conversation(20, 60), { rules: SMALL });
    const first = await commit(session, String(id));
    await remove(session, "m4");
    const renewal = await newest(session);
    expect(renewal).toMatchObject({ state: "queued", trigger: "renewal" });
    const { fence } = await claim(session, renewal.id);
    await remove(session, "m1");
    expect(valueOf(await session.rpc().commitJob(renewal.id as JobId, fence, COMMIT)).state).toBe("stale");
    const next = await newest(session);
    expect(next).toMatchObject({ state: "queued", trigger: "renewal", from_id: "m2", messages: first.messages - 2 });
    expect((await commit(session, next.id)).state).toBe("applied");
  });
});

describe("a summary that is to be written again", () => {
  const rerun = (session: TestSession, overlay: string) =>
    session.rpc().rerunOverlay({ overlay_id: overlay, rules: MANUAL, idempotency: once() });

  test("is refused once another stands in its place", async () => {
    const { session, id } = await due();
    const first = String((await commit(session, id)).overlay_id);
    const { value: job } = valueOf(await rerun(session, first));
    const second = String((await commit(session, job.id)).overlay_id);
    expect(errorOf(await rerun(session, first))).toMatchObject({ code: "nothing_to_compact", fields: { reason: "superseded" } });
    expect(valueOf(await rerun(session, second)).value).toMatchObject({ state: "queued", tokens_before: 320, messages: 16 });
  });

  test("is not when it was reverted meanwhile: nothing is compacted in its stead", async () => {
    const { session, id } = await due();
    const first = String((await commit(session, id)).overlay_id);
    const { value: job } = valueOf(await rerun(session, first));
    const { fence } = await claim(session, job.id);
    valueOf(await session.rpc().deleteOverlay({ overlay_id: first, idempotency: once() }));
    expect(valueOf(await session.rpc().commitJob(job.id as JobId, fence, COMMIT)).state).toBe("stale");
    expect(await state(session)).toBe("idle");
    expect(await shown(session)).toHaveLength(20);
  });

  test("begins again when a message was edited meanwhile, with what was asked", async () => {
    const { session, id } = await due();
    const first = String((await commit(session, id)).overlay_id);
    const input = { overlay_id: first, instructions: "names", rules: MANUAL, idempotency: once() };
    const { value: job } = valueOf(await session.rpc().rerunOverlay(input));
    const { fence } = await claim(session, job.id);
    await edit(session, "m4", "another text", MANUAL);
    expect(valueOf(await session.rpc().commitJob(job.id as JobId, fence, COMMIT)).state).toBe("stale");
    const next = await newest(session);
    expect(next).toMatchObject({ state: "queued", trigger: "rerun", renews_overlay_id: first });
    expect((await claim(session, next.id)).instructions).toBe("names");
  });
});

test("a summary that was renewed makes nothing due any more, and appends are plain again", async () => {
  const { session, id } = await due();
  await commit(session, id);
  await edit(session, "m4", "another text");
  const renewal = await newest(session);
  expect(renewal).toMatchObject({ state: "queued", trigger: "renewal" });
  expect((await commit(session, renewal.id)).state).toBe("applied");
  const stale = await runInDurableObject(session.newStub(), (_instance, { storage }) =>
    storage.sql
      .exec<{ stale: number }>("SELECT stale FROM overlays ORDER BY seq")
      .toArray()
      .map((row) => row.stale),
  );
  expect(stale).toEqual([1, 0]);
  const reply = await append(session, [message("next", "a word")], { rules: SMALL });
  expect(reply.compaction_job_id).toBeNull();
  expect(await jobs(session)).toHaveLength(2);
});

test("what is deleted tells of the summary that went with it", async () => {
  const { session, id } = await due();
  const { overlay_id: overlay } = await commit(session, id);
  await remove(session, "m4");
  const reverted = await runInDurableObject(session.newStub(), (_instance, { storage }) =>
    storage.sql
      .exec<{ id: string }>("SELECT data ->> 'overlay_id' AS id FROM events WHERE type = 'compact' AND data ->> 'reverted'")
      .toArray(),
  );
  expect(reverted).toEqual([{ id: overlay }]);
});

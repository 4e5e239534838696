import { evictDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import type { JobId } from "@sessionplane/shared/ids";
import type { PricedUsage } from "@sessionplane/shared/usage-event";
import { RULES, type TestSession, append, conversation, errorOf, message, opened, usage, valueOf } from "../testing/session.ts";

const record = async (session: TestSession, events: readonly PricedUsage[]) =>
  valueOf(await session.rpc().recordUsage({ events })).value;
const totals = async (session: TestSession) => valueOf(await session.rpc().readUsage()).usage;

test("each event counts once: created, duplicate or conflict", async () => {
  const session = await opened();
  const other = usage("a", { fingerprint: "other", input_tokens: 9 });
  const first = await record(session, [usage("a"), usage("b"), usage("a"), other]);
  expect(first.map((one) => one.status)).toEqual(["created", "created", "duplicate", "conflict"]);
  expect((await record(session, [usage("b"), other])).map((one) => one.status)).toEqual(["duplicate", "conflict"]);
  expect(await totals(session)).toEqual({
    events: 2,
    input_tokens: 2_000,
    output_tokens: 200,
    cost: { amount: "0.006000000", currency: "USD" },
    list_cost: { amount: "0.005000000", currency: "USD" },
    unpriced_events: 0,
  });
});

test("an event without a user is of the session's user at that moment, and the same event again is the same one", async () => {
  const session = await opened({ user_id: "ann" });
  const usersOf = async () => valueOf(await session.rpc().listUsageEvents({ limit: 9 })).items.map((event) => event.user_id);
  await record(session, [usage("a"), usage("b", { user_id: "bob" })]);
  expect(await usersOf()).toEqual(["bob", "ann"]);
  valueOf(await session.rpc().patch({ patch: { user_id: "eve" }, rules: RULES }));
  expect((await record(session, [usage("a"), usage("c")])).map((one) => one.status)).toEqual(["duplicate", "created"]);
  const correction = { lines: [], input_tokens: 0, output_tokens: 0, raw_usage: "{}" };
  const idempotency = { key: "k", fingerprint: "" };
  valueOf(await session.rpc().adjustUsage({ event_id: "a", id: "d", reason: "r", to: correction, idempotency }));
  expect(await usersOf()).toEqual(["ann", "eve", "bob", "ann"]);
});

test("a conflict shows what is stored", async () => {
  const session = await opened();
  await record(session, [usage("a")]);
  const [conflict] = await record(session, [usage("a", { fingerprint: "other", lines: [] })]);
  expect(conflict).toMatchObject({ status: "conflict", cost: { amount: "0.003000000" } });
});

test("an unpriced line costs nothing yet, and says so", async () => {
  const session = await opened();
  const line = { class: "input", quantity: 5, price: null, list_nano: null, billed_nano: null } as const;
  const [recorded] = await record(session, [usage("a", { lines: [line] })]);
  expect(recorded?.cost).toBeNull();
  expect(await totals(session)).toMatchObject({ events: 1, unpriced_events: 1, cost: { amount: "0.000000000" } });
});

test("totals and events survive eviction", async () => {
  const session = await opened();
  await record(session, [usage("a")]);
  await evictDurableObject(session.stub);
  await record(session, [usage("b")]);
  await evictDurableObject(session.stub);
  expect(await totals(session)).toMatchObject({ events: 2, input_tokens: 2_000 });
});

test("events are listed newest first, page by page, with what was reported", async () => {
  const session = await opened();
  await record(session, [usage("a"), usage("b"), usage("c")]);
  const first = valueOf(await session.rpc().listUsageEvents({ limit: 2 }));
  expect(first.items.map((event) => event.id)).toEqual(["c", "b"]);
  expect(first.items[0]?.raw_usage).toEqual({ inputTokens: 1_000 });
  const rest = valueOf(await session.rpc().listUsageEvents({ limit: 2, before_seq: first.next_seq ?? 0 }));
  expect([rest.items.map((event) => event.id), rest.next_seq]).toEqual([["a"], null]);
});

test("a repeated key answers as the first time", async () => {
  const session = await opened();
  const input = { events: [usage("a"), usage("b")], idempotency: { key: "k", fingerprint: "f" } };
  const first = valueOf(await session.rpc().recordUsage(input));
  await evictDurableObject(session.stub);
  expect(valueOf(await session.rpc().recordUsage(input))).toEqual({ ...first, replayed: true });
  const mismatch = await session.rpc().recordUsage({ ...input, idempotency: { key: "k", fingerprint: "g" } });
  expect(errorOf(mismatch).code).toBe("idempotency_mismatch");
  expect((await totals(session)).events).toBe(2);
});

test("a total that no cell holds exactly is refused whole", async () => {
  const session = await opened();
  const line = { class: "input", quantity: 1, price: null, list_nano: 6e15, billed_nano: 0 } as const;
  await record(session, [usage("a", { lines: [line] })]);
  const refused = await session.rpc().recordUsage({ events: [usage("b"), usage("c", { lines: [line] })] });
  expect(errorOf(refused).code).toBe("amount_overflow");
  expect((await totals(session)).events).toBe(1);
});

describe("a real call's count", () => {
  const POLICY = { threshold: 6_000, keep_recent_tokens: 600, protect_head: 1, cooldown_messages: 0 };
  const rules = { ...RULES, compaction: POLICY };
  const factor = async (session: TestSession) => valueOf(await session.rpc().describe(rules)).compaction.calibration;

  test("makes compaction due at real tokens, until the next compaction", async () => {
    const session = await opened();
    // 4,000 estimated tokens: the model says that they were 8,000.
    await append(session, conversation(40, 100), { rules });
    await append(session, [message("question")], { rules });
    await record(session, [usage("call", { input_tokens: 8_000, message_id: "question" })]);
    expect(await factor(session)).toBeCloseTo(2, 1);
    const { compaction_job_id: id } = await append(session, [message("answer", "ok", "assistant")], { rules });
    const job = await session.rpc().claimJob(id as JobId);
    const { fence, policy } = valueOf(job);
    expect(policy.keep_recent_tokens).toBeLessThan(320);
    valueOf(await session.rpc().commitJob(id as JobId, fence, { summary: "s", model: "m", retention: null, usage: [] }));
    expect(await factor(session)).toBe(1);
  });

  test("survives an eviction, and a repetition of an old event changes nothing", async () => {
    const session = await opened();
    await append(session, conversation(40, 100), { rules });
    await record(session, [usage("one", { input_tokens: 6_000 })]);
    await record(session, [usage("two", { input_tokens: 12_000 })]);
    const before = await factor(session);
    await evictDurableObject(session.stub);
    await record(session, [usage("one", { input_tokens: 6_000 })]);
    expect([before, await factor(session)]).toEqual([before, before]);
    expect(before).toBeGreaterThan(2.9);
  });

  test("of a short history, of a compaction or too small to matter is left alone", async () => {
    const session = await opened();
    await append(session, conversation(4, 100), { rules });
    await record(session, [usage("short", { input_tokens: 5_000 })]);
    await append(session, conversation(40, 100, "n"), { rules });
    await record(session, [usage("compaction", { input_tokens: 9_000, purpose: "compaction" })]);
    await record(session, [usage("less", { input_tokens: 100 })]);
    expect(await factor(session)).toBe(1);
  });
});

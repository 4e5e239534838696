import { evictDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { PricedUsage } from "@sessionplane/shared/usage-event";
import { type TestSession, errorOf, opened, usage, valueOf } from "../testing/session.ts";

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

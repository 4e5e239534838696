/** What other ledgers got wrong, held against this one over HTTP; `docs/billing.md` names the rest of the tests. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text, until } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant({ compaction: { threshold: 600, keep_recent_tokens: 100, model: "builtin/extractive" } });
  await plane.addPrices("acme", "m", { input: "1", cache_read: "0.1", output: "10" });
  await plane.addPrices("builtin", "extractive", { input: "1", output: "2" });
});
afterAll(() => plane.close());

type Recorded = { id: string; status: string; cost: { amount: string } | null; lines: { class: string; quantity: number }[] };
type Event = Recorded & { purpose: string };

const record = async (session: string, ...events: object[]) =>
  (
    await tenant.call<{ results: Recorded[] }>("POST", `/v1/sessions/${session}/usage`, {
      events: events.map((event) => ({ provider: "acme", model: "m", ...event })),
    })
  ).body.results;
const usageOf = async (session: string) =>
  (await tenant.call<{ usage: { events: number; cost: { amount: string } } }>("GET", `/v1/sessions/${session}/usage`)).body.usage;
const eventsOf = async (session: string) =>
  (await tenant.call<{ data: Event[] }>("GET", `/v1/sessions/${session}/usage/events?limit=100`)).body.data;
const report = async (session: string, grouping: string) => {
  const [start, end] = [Date.now() - 86_400_000, Date.now() + 60_000].map((at) => new Date(at).toISOString());
  const path = `/v1/reports/cost?start=${start}&end=${end}&bucket=month&group_by=${grouping}&session_id=${session}`;
  type Row = { token_class: string; quantity: number; cost: { amount: string } };
  return (await tenant.call<{ data: Row[]; totals: { cost: { amount: string } } }>("GET", path)).body;
};
const sum = (amounts: readonly string[]): bigint =>
  amounts.reduce((total, amount) => total + BigInt(amount.replace(".", "")), 0n);

test("what was read from a cache is a class of its own in the event, and in the report too", async () => {
  const session = await plane.session(tenant);
  const usage = { input_tokens: 1_000, cache_read_input_tokens: 38_000, output_tokens: 100 };
  const [recorded] = await record(session, { id: "a", usage });
  expect(recorded?.lines.map((line) => [line.class, line.quantity])).toEqual([
    ["input", 1_000],
    ["cache_read", 38_000],
    ["output", 100],
  ]);
  const rows = await until("the report to follow", async () => {
    const { data } = await report(session, "token_class");
    return data.length === 3 ? data : undefined;
  });
  expect(Object.fromEntries(rows.map((row) => [row.token_class, row.cost.amount]))).toEqual({
    ...{ input: "0.001000000", cache_read: "0.003800000", output: "0.001000000" },
  });
});

test("a call that was cancelled costs what it used, one that failed with no tokens nothing, and both are counted", async () => {
  const session = await plane.session(tenant);
  const [cancelled, failed] = await record(
    session,
    { id: "cancelled", status: "partial", usage: { inputTokens: 1_000, outputTokens: 3 } },
    { id: "failed", status: "partial", usage: { input_tokens: 0, output_tokens: 0 } },
  );
  expect([cancelled?.cost?.amount, failed?.cost?.amount]).toEqual(["0.001030000", "0.000000000"]);
  expect(await usageOf(session)).toMatchObject({ events: 2, cost: { amount: "0.001030000" }, unpriced_events: 0 });
});

test("a price that is added later, for the past too, changes no call that was recorded, and any moment's price can be asked for", async () => {
  const session = await plane.session(tenant);
  const add = (usd: string, from: string) =>
    plane.operator("POST", "/v1/prices", {
      ...{ provider: "acme", model: "aging", class: "input", usd_per_million: usd, effective_from: from },
    });
  await add("1", "2026-01-01T00:00:00Z");
  await record(session, { id: "a", model: "aging", usage: { input: 1_000 }, occurred_at: "2026-03-01T00:00:00Z" });
  const explain = async () => (await tenant.call("GET", `/v1/usage-events/a/explain?session_id=${session}`)).body;
  const before = await explain();
  await add("5", "2026-02-01T00:00:00Z");
  await add("7", "2026-09-01T00:00:00Z");
  expect(await explain()).toEqual(before);
  expect((await usageOf(session)).cost.amount).toBe("0.001000000");
  const at = async (moment: string) => {
    const path = `/v1/prices/resolve?model=acme/aging&class=input&at=${moment}`;
    const { body } = await tenant.call<{ prices: { price: { usd_per_million: string } }[] }>("GET", path);
    return body.prices[0]?.price.usd_per_million ?? null;
  };
  const moments = ["2025-12-31T23:59:59Z", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z", "2026-12-01T00:00:00Z"];
  expect(await Promise.all(moments.map(at))).toEqual([null, "1", "5", "7"]);
});

test("compactions are paid for, and the session's cost goes on from what it was: it is the sum of its calls", async () => {
  const session = await plane.session(tenant);
  await record(session, { id: "before", usage: { input: 1_000 } });
  const messages = Array.from({ length: 20 }, (_, index) =>
    text(`m${index}`, index % 2 === 0 ? "user" : "assistant", "We went through the details of it. ".repeat(6)),
  );
  await tenant.call("POST", `/v1/sessions/${session}/messages`, { messages });
  const isCompaction = ({ purpose }: Event) => purpose === "compaction";
  await until("the compaction", async () => (await eventsOf(session)).some(isCompaction));
  await record(session, { id: "after", usage: { input: 1_000 } });
  const events = await eventsOf(session);
  const summaries = events.filter(isCompaction);
  expect(sum(summaries.map((event) => event.cost?.amount ?? ""))).toBeGreaterThan(0n);
  const usage = await usageOf(session);
  expect([usage.events, sum([usage.cost.amount])]).toEqual([
    ...[events.length, sum(events.map((event) => event.cost?.amount ?? ""))],
  ]);
  await until(
    "the report to say the same",
    async () => (await report(session, "purpose")).totals.cost.amount === usage.cost.amount,
  );
});

test("a thousand calls of a tenth of a cent are a dollar to the nano, in decimals everywhere", async () => {
  const session = await plane.session(tenant);
  const calls = Array.from({ length: 1_000 }, (_, index) => ({ id: `c${index}`, usage: { input: 1_000 } }));
  const recorded = await record(session, ...calls);
  expect(new Set(recorded.map((one) => one.cost?.amount))).toEqual(new Set(["0.001000000"]));
  expect((await usageOf(session)).cost).toEqual({ amount: "1.000000000", currency: "USD" });
  await until("the report to follow", async () => (await report(session, "model")).totals.cost.amount === "1.000000000");
});

test("a batch with a call that is known, and one of another content, records the rest and answers for each", async () => {
  const session = await plane.session(tenant);
  await record(session, { id: "known", usage: { input: 1_000 } }, { id: "taken", usage: { input: 1_000 } });
  const results = await record(
    session,
    { id: "known", usage: { input: 1_000 } },
    { id: "taken", usage: { input: 9 } },
    { id: "new", usage: { input: 1_000 } },
  );
  expect(results.map(({ id, status }) => [id, status])).toEqual([
    ["known", "duplicate"],
    ["taken", "conflict"],
    ["new", "created"],
  ]);
  expect(await usageOf(session)).toMatchObject({ events: 3, cost: { amount: "0.003000000" } });
});

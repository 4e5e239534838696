/** Why a call costs what it costs, over HTTP: prices by the moment, what has none, corrections, calls that are rated again. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, until } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant({ markup_bps: 1_000 });
});
afterAll(() => plane.close());

type Line = {
  class: string;
  quantity: number;
  price: { usd_per_million: string; source: string } | null;
  product: string | null;
};
type Explained = {
  lines: (Line & { list: { amount: string } })[];
  cost: { amount: string } | null;
  list_cost: { amount: string };
};

const addPrice = (model: string, name: string, usd: string, from: string) =>
  plane.operator("POST", "/v1/prices", {
    ...{ provider: "acme", model, class: name, usd_per_million: usd, effective_from: from, source: "the price list" },
  });
const record = async (session: string, id: string, model: string, usage: object, occurredAt?: string) =>
  tenant.call("POST", `/v1/sessions/${session}/usage`, {
    event: { id, provider: "acme", model, usage, ...(occurredAt === undefined ? {} : { occurred_at: occurredAt }) },
  });

test("an event is explained line by line, with the price of its moment, and the lines add up", async () => {
  await addPrice("m", "input", "0.15", "2026-01-01T00:00:00.000Z");
  await addPrice("m", "input", "0.3", "2026-06-01T00:00:00.000Z");
  await addPrice("m", "output", "0.6", "2026-01-01T00:00:00.000Z");
  const session = await plane.session(tenant);
  await record(session, "spring", "m", { input: 1_003, output: 7 }, "2026-03-01T00:00:00.000Z");
  await record(session, "summer", "m", { input: 1_003, output: 7 }, "2026-07-01T00:00:00.000Z");
  await record(session, "before", "m", { input: 1_003 }, "2025-07-01T00:00:00.000Z");
  const explain = async (id: string) =>
    (await tenant.call<Explained>("GET", `/v1/usage-events/${id}/explain?session_id=${session}`)).body;
  const spring = await explain("spring");
  expect(spring.lines).toMatchObject([
    {
      ...{ class: "input", quantity: 1_003, product: "0.000150450000000", rounding: "0.000000000000000" },
      price: { usd_per_million: "0.15", source: "the price list", effective_from: "2026-01-01T00:00:00.000Z" },
    },
    { class: "output", quantity: 7, list: { amount: "0.000004200" } },
  ]);
  expect([spring.list_cost.amount, spring.cost?.amount]).toEqual(["0.000154650", "0.000170115"]);
  expect((await explain("summer")).lines[0]?.price?.usd_per_million).toBe("0.3");
  expect(await explain("before")).toMatchObject({ lines: [{ price: null, product: null }], cost: null });
});

test("events are listed across sessions, and an id that several have is asked for by its session", async () => {
  const [one, two] = [await plane.session(tenant), await plane.session(tenant)];
  for (const session of [one, two]) await record(session, "twice", "m", { input: 10 });
  await record(two, "once", "m", { input: 10 });
  const explain = (id: string, query = "") => tenant.call("GET", `/v1/usage-events/${id}/explain${query}`);
  await until(
    "the catalog to know of all",
    async () => (await explain("twice")).status === 409 && (await explain("once")).status === 200,
  );
  expect((await explain("twice")).body["code"]).toBe("ambiguous_event");
  expect((await explain("twice", `?session_id=${two}`)).body["session_id"]).toBe(two);
  expect((await explain("none")).status).toBe(404);
  const { body } = await tenant.call<{ data: { id: string; session_id: string }[] }>("GET", `/v1/usage-events?session_id=${two}`);
  expect(body.data.map(({ id }) => id).toSorted()).toEqual(["once", "twice"]);
});

test("what was used without a price is listed for operators until it has one", async () => {
  const session = await plane.session(tenant);
  await record(session, "new", "unheard-of", { input: 500, output: 5 });
  type Unpriced = { data: { model: string; class: string; events: number; quantity: number }[] };
  const listed = async () => {
    const { body } = await plane.operator<Unpriced>("GET", "/v1/prices/unpriced");
    return body.data.filter(({ model }) => model === "unheard-of");
  };
  await until("the catalog to know of it", async () => (await listed()).length === 2);
  expect(await listed()).toMatchObject([
    { class: "input", events: 1, quantity: 500 },
    { class: "output", events: 1, quantity: 5 },
  ]);
});

type Adjusted = { changed: boolean; adjustment: { cost_change: { amount: string }; lines: { quantity: number }[] } | null };
const usageOf = async (session: string) =>
  (await tenant.call<{ usage: Record<string, unknown> }>("GET", `/v1/sessions/${session}/usage`)).body.usage;
const explain = async (session: string, id: string) =>
  (await tenant.call<Explained & { adjustments: unknown[] }>("GET", `/v1/usage-events/${id}/explain?session_id=${session}`)).body;
const RANGE = "start=2026-01-01T00:00:00Z&end=2027-01-01T00:00:00Z";
/** Of one session, from rollups and, with an end in the middle of a quarter, from events. */
const reported = async (session: string, range = RANGE) => {
  const { body } = await tenant.call<{ data: { events: number; list_cost: { amount: string }; unpriced_events: number }[] }>(
    ...["GET", `/v1/reports/cost?${range}&bucket=month&group_by=session&session_id=${session}`],
  );
  return body.data[0];
};

test("a list goes on where it ended, also between events of one moment and one id, and streams as NDJSON", async () => {
  const own = await plane.tenant();
  const at = "2026-04-01T00:00:00.000Z";
  const sessions = [await plane.session(own), await plane.session(own), await plane.session(own)];
  for (const session of sessions) {
    const events = ["r1", "用户🦉"].map((id) => ({ id, provider: "acme", model: "m", usage: { input: 10 }, occurred_at: at }));
    await own.call("POST", `/v1/sessions/${session}/usage`, { events });
  }
  type Page = { data: { id: string; session_id: string }[]; next_cursor: string | null };
  const list = async (rest: string) => (await own.call<Page>("GET", `/v1/usage-events?${rest}`)).body;
  await until("all to be listed", async () => (await list("limit=10")).data.length === 6);
  const place = (one: { id: string; session_id: string }) => `${one.session_id} ${one.id}`;
  const all = (await list("limit=10")).data.map(place);
  const paged: string[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const page: Page = await list(`limit=1${cursor === "" ? "" : `&cursor=${cursor}`}`);
    paged.push(...page.data.map(place));
    cursor = page.next_cursor;
  }
  expect(paged).toEqual(all);
  expect(new Set(all).size).toBe(6);
  const stream = await own.call<string>("GET", "/v1/usage-events?limit=1", undefined, { Accept: "application/x-ndjson" });
  const lines = stream.body.trim().split("\n");
  expect(lines.map((line) => place(JSON.parse(line)))).toEqual(all);
  const one = await own.call<{ session_id: string }>("GET", `/v1/usage-events/r1?session_id=${sessions[1]}`);
  expect([one.status, one.body.session_id]).toEqual([200, sessions[1]]);
  const any = await own.call("GET", "/v1/usage-events/r1");
  expect([any.status, any.body["code"]]).toEqual([409, "ambiguous_event"]);
  expect((await own.call("GET", "/v1/usage-events/none")).status).toBe(404);
});

test("a correction takes back and posts; totals, reports and explanations follow, and the event stays", async () => {
  await addPrice("c", "input", "1", "2026-01-01T00:00:00.000Z");
  const session = await plane.session(tenant);
  await record(session, "call", "c", { input: 1_000_000 }, "2026-03-01T00:07:00.000Z");
  await record(session, "other", "c", { input: 1_000_000 }, "2026-03-01T00:07:00.000Z");
  const correct = (body: object, headers?: Record<string, string>) =>
    plane.operator<Adjusted>(
      "POST",
      "/v1/usage-events/call/adjustments",
      {
        ...{ tenant_id: tenant.id, session_id: session, reason: "counted twice" },
        ...body,
      },
      headers,
    );
  const key = { "Idempotency-Key": "once" };
  const first = await correct({ usage: { input: 400_000 } }, key);
  expect(first.status).toBe(201);
  expect(first.body.adjustment?.lines.map(({ quantity }) => quantity)).toEqual([-1_000_000, 400_000]);
  expect(first.body.adjustment?.cost_change.amount).toBe("-0.660000000");
  expect((await correct({ usage: { input: 400_000 } }, key)).headers.get("Idempotent-Replayed")).toBe("true");
  const same = await correct({ usage: { input: 400_000 } });
  expect([same.status, same.body.changed]).toEqual([200, false]);
  expect(await usageOf(session)).toMatchObject({ events: 2, input_tokens: 1_400_000, cost: { amount: "1.540000000" } });
  expect(await explain(session, "call")).toMatchObject({ lines: [{ quantity: 400_000 }], cost: { amount: "0.440000000" } });
  await until("the report to follow", async () => (await reported(session))?.list_cost.amount === "1.400000000");
  expect((await reported(session))?.events).toBe(2);
  const cut = "start=2026-03-01T00:05:00Z&end=2026-03-01T00:10:00Z";
  expect(await reported(session, cut)).toMatchObject({ events: 2, list_cost: { amount: "1.400000000" } });
  await correct({});
  expect(await usageOf(session)).toMatchObject({ events: 2, input_tokens: 1_000_000, list_cost: { amount: "1.000000000" } });
  expect((await explain(session, "call")).adjustments).toHaveLength(2);
  const { body } = await tenant.call<{ data: { id: string; cost: { amount: string } }[] }>(
    "GET",
    `/v1/sessions/${session}/usage/events`,
  );
  expect(body.data.find(({ id }) => id === "call")?.cost.amount).toBe("1.100000000");
});

test("calls without a price are rated again when it is known: first as a difference, then in truth, and once", async () => {
  const session = await plane.session(tenant);
  for (const id of ["a", "b"]) await record(session, id, "late", { input: 1_000, output: 10 }, "2026-02-01T00:00:00.000Z");
  expect(await usageOf(session)).toMatchObject({ unpriced_events: 2, cost: { amount: "0.000000000" } });
  await until("the catalog to know of them", async () => (await reported(session))?.unpriced_events === 2);
  await addPrice("late", "input", "2", "2026-01-01T00:00:00.000Z");
  await addPrice("late", "output", "4", "2026-01-01T00:00:00.000Z");
  type Rating = { events: number; changed: number; after: { list: { amount: string }; unpriced_events: number } };
  const rate = async (body: object = {}) =>
    (
      await plane.operator<Rating>("POST", "/v1/re-rates", {
        ...{ start: "2026-01-01T00:00:00Z", end: "2026-03-01T00:00:00Z", model: "late" },
        ...body,
      })
    ).body;
  const dry = await rate({ dry_run: true });
  expect(dry).toMatchObject({ events: 2, changed: 2, after: { list: { amount: "0.004080000" }, unpriced_events: 0 } });
  expect(await usageOf(session)).toMatchObject({ unpriced_events: 2 });
  expect(await rate()).toMatchObject({ changed: 2 });
  expect(await usageOf(session)).toMatchObject({ events: 2, unpriced_events: 0, list_cost: { amount: "0.004080000" } });
  await until("the report to follow", async () => (await reported(session))?.unpriced_events === 0);
  expect(await reported(session)).toMatchObject({ events: 2, list_cost: { amount: "0.004080000" } });
  expect(await rate({ dry_run: true })).toMatchObject({ events: 2, changed: 0 });
  const { body } = await plane.operator<{ data: { model: string }[] }>("GET", "/v1/prices/unpriced");
  expect(body.data.some(({ model }) => model === "late")).toBe(false);
});

test("a correction that the catalog has not heard of yet is not undone by rating again", async () => {
  const session = await plane.session(tenant);
  await record(session, "hasty", "hasty", { input: 1_000_000 }, "2026-02-01T00:00:00.000Z");
  await until("the catalog to know of it", async () => (await reported(session))?.unpriced_events === 1);
  await addPrice("hasty", "input", "1", "2026-01-01T00:00:00.000Z");
  const range = { start: "2026-01-01T00:00:00Z", end: "2026-03-01T00:00:00Z", model: "hasty" };
  const correction = { tenant_id: tenant.id, session_id: session, reason: "less", usage: { input: 10 } };
  await plane.operator("POST", "/v1/usage-events/hasty/adjustments", correction);
  const { body } = await plane.operator<{ changed: number; behind: number }>("POST", "/v1/re-rates", range);
  expect([body.changed, body.behind]).toEqual([0, 1]);
  expect(await usageOf(session)).toMatchObject({ input_tokens: 10, list_cost: { amount: "0.000010000" } });
  await until("the report to follow", async () => (await reported(session))?.list_cost.amount === "0.000010000");
  expect((await plane.operator("POST", "/v1/re-rates", range)).body).toMatchObject({ changed: 0, behind: 0 });
});

test("a range that ends before it begins, and an event that is not there, are refused", async () => {
  const range = await plane.operator("POST", "/v1/re-rates", { start: "2026-02-01T00:00:00Z", end: "2026-01-01T00:00:00Z" });
  expect([range.status, range.body["code"]]).toEqual([422, "invalid"]);
  const body = { tenant_id: tenant.id, session_id: await plane.session(tenant), reason: "x" };
  expect((await plane.operator("POST", "/v1/usage-events/none/adjustments", body)).status).toBe(404);
});

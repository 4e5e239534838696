/** Why a call costs what it costs, over HTTP: prices by the moment, what has none, and events across sessions. */
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

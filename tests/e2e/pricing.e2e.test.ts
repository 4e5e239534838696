/** By what a call is priced, over HTTP: a model's other name, what the provider says, reports that do not add up, whose call it was. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text, until } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant({ markup_bps: 1_000 });
  await plane.addPrices("acme", "large", { input: "1", output: "10" });
});
afterAll(() => plane.close());

type Line = {
  class: string;
  quantity: number;
  price: { provider?: string; model?: string; usd_per_million: string } | null;
  list: { amount: string } | null;
};
type Event = {
  id: string;
  session_id: string;
  user_id: string | null;
  lines: Line[];
  cost: { amount: string } | null;
  provider_cost: { amount: string } | null;
  cost_source: string | null;
  inconsistent: string[];
  adjusts: string | null;
};

const AT = "2026-03-01T00:00:00.000Z";
const record = (session: string, event: object, by = tenant) =>
  by.call<{ results: (Event & { status: string })[] }>("POST", `/v1/sessions/${session}/usage`, {
    event: { occurred_at: AT, ...event },
  });
const explain = async (session: string, id: string, by = tenant) =>
  (await by.call<Event & { adjustments: object[] }>("GET", `/v1/usage-events/${id}/explain?session_id=${session}`)).body;
const listed = async (query: string) => (await tenant.call<{ data: Event[] }>("GET", `/v1/usage-events?${query}`)).body.data;
const known = (session: string, count: number) =>
  until("the catalog to know of the calls", async () => (await listed(`session_id=${session}&limit=100`)).length === count);
const rerate = async (model: string) =>
  (
    await plane.operator<{ changed: number }>("POST", "/v1/re-rates", {
      ...{ start: "2026-01-01T00:00:00Z", end: "2026-12-31T00:00:00Z", model },
    })
  ).body;
const unpriced = async (model: string) =>
  (await plane.operator<{ data: { model: string; class: string }[] }>("GET", "/v1/prices/unpriced")).body.data.filter(
    (one) => one.model === model,
  );
const addAlias = (body: object, headers?: Record<string, string>) =>
  plane.operator<{ id: string; code: string; errors?: { pointer: string }[] }>(
    "POST",
    "/v1/price-aliases",
    { provider: "acme", ...body },
    headers,
  );

describe("an alias", () => {
  test("prices a model that has no price as the one that it names, and every line says by whose price", async () => {
    const added = await addAlias({ model: "large-2026", target_model: "large" });
    expect(added).toMatchObject({
      status: 201,
      body: { target_provider: "acme", target_model: "large", tenant_id: null, effective_from: "1970-01-01T00:00:00.000Z" },
    });
    const session = await plane.session(tenant);
    const { body } = await record(session, { id: "a", model: "acme/large-2026", usage: { input: 1_000, reasoning: 100 } });
    const lines = [
      { class: "input", price: { provider: "acme", model: "large", usd_per_million: "1" }, list: { amount: "0.001000000" } },
      { class: "reasoning", price: { model: "large", class: "output" }, list: { amount: "0.001000000" } },
    ];
    expect(body.results[0]).toMatchObject({ status: "created", cost_source: "prices", lines });
    expect(await explain(session, "a")).toMatchObject({ lines, cost: { amount: "0.002200000" } });
    const resolved = await tenant.call("GET", "/v1/prices/resolve?model=acme/large-2026&class=input");
    expect(resolved.body).toMatchObject({
      alias: { id: added.body.id, provider: "acme", model: "large" },
      prices: [{ price: { model: "large" } }],
    });
    const own = await tenant.call<{ alias: null }>("GET", "/v1/prices/resolve?model=acme/large&class=input");
    expect(own.body.alias).toBeNull();
    await record(session, { id: "b", model: "acme/large", usage: { input: 1 } });
    expect((await explain(session, "b")).lines[0]?.price?.model).toBeUndefined();
  });

  test("gives way to a price of the model's own from its moment on, and holds before it", async () => {
    await addAlias({ model: "own", target_model: "large" });
    const price = { provider: "acme", model: "own", class: "input", usd_per_million: "7", effective_from: AT };
    await plane.operator("POST", "/v1/prices", price);
    const session = await plane.session(tenant);
    await record(session, { id: "before", model: "acme/own", usage: { input: 1 }, occurred_at: "2026-02-28T23:59:59.999Z" });
    await record(session, { id: "since", model: "acme/own", usage: { input: 1, output: 1 } });
    expect((await explain(session, "before")).lines[0]?.price).toMatchObject({ usd_per_million: "1", model: "large" });
    expect((await explain(session, "since")).lines.map((line) => line.price?.usd_per_million)).toEqual(["7", undefined]);
  });

  test("is not followed to an alias of its target", async () => {
    await addAlias({ model: "far", target_model: "large-2026" });
    const session = await plane.session(tenant);
    const { body } = await record(session, { id: "a", model: "acme/far", usage: { input: 1 } });
    expect(body.results[0]).toMatchObject({ cost: null, cost_source: null });
  });

  test("of a tenant comes before the plane's and ends for it alone; prices of a tenant's own hold for the target", async () => {
    const other = await plane.tenant();
    await plane.addPrices("acme", "small", { input: "0.1" });
    await addAlias({ model: "chosen", target_model: "large" });
    await addAlias({ model: "chosen", target_model: "small", tenant_id: other.id });
    await addAlias({ model: "chosen", target_model: null, tenant_id: other.id, effective_from: "2026-06-01T00:00:00.000Z" });
    const price = {
      provider: "acme",
      model: "large",
      class: "input",
      usd_per_million: "3",
      effective_from: "2020-01-01T00:00:00Z",
    };
    await plane.operator("POST", "/v1/prices", { ...price, tenant_id: tenant.id });
    const costOf = async (by: Tenant, occurredAt: string) => {
      const session = await plane.session(by);
      const event = { id: "a", model: "acme/chosen", usage: { input: 1_000_000 }, occurred_at: occurredAt };
      return (await record(session, event, by)).body.results[0]?.lines[0]?.list?.amount ?? null;
    };
    expect(await costOf(tenant, AT)).toBe("3.000000000");
    expect(await costOf(other, AT)).toBe("0.100000000");
    expect(await costOf(other, "2026-06-02T00:00:00.000Z")).toBeNull();
  });

  test("that is added later prices calls of before when they are rated again: they are unpriced no more", async () => {
    const session = await plane.session(tenant);
    await record(session, { id: "a", model: "acme/nameless", usage: { input: 1_000 } });
    await until("it to be listed", async () => (await unpriced("nameless")).length === 1);
    await addAlias({ model: "nameless", target_model: "small" });
    expect(await rerate("nameless")).toMatchObject({ changed: 1 });
    expect(await explain(session, "a")).toMatchObject({
      lines: [{ price: { model: "small" } }],
      ...{ cost: { amount: "0.000110000" }, cost_source: "prices" },
    });
    await until("it to be listed no more", async () => (await unpriced("nameless")).length === 0);
    expect(await rerate("nameless")).toMatchObject({ changed: 0 });
  });

  test("that ends for the past takes the price away when calls are rated again, and what is missing is listed class by class", async () => {
    const session = await plane.session(tenant);
    await addAlias({ model: "brief", target_model: "large" });
    await record(session, { id: "a", model: "acme/brief", usage: { input: 1_000, output: 10 } });
    await known(session, 1);
    await addAlias({ model: "brief", target_model: null, effective_from: "2026-02-01T00:00:00.000Z" });
    expect(await rerate("brief")).toMatchObject({ changed: 1 });
    expect(await explain(session, "a")).toMatchObject({
      cost: null,
      cost_source: null,
      lines: [{ price: null }, { price: null }],
    });
    await until("both classes to be listed", async () => (await unpriced("brief")).length === 2);
    await plane.addPrices("acme", "brief", { input: "1" });
    await rerate("brief");
    await until("output alone to be listed", async () => {
      const classes = (await unpriced("brief")).map((one) => one.class);
      return classes.length === 1 && classes[0] === "output";
    });
    const { body } = await tenant.call<{ usage: object }>("GET", `/v1/sessions/${session}/usage`);
    expect(body.usage).toMatchObject({ events: 1, unpriced_events: 1 });
  });

  test("is made once: the same again is there already, another one of the moment is a conflict", async () => {
    const key = { "Idempotency-Key": "alias" };
    const first = await addAlias({ model: "once", target_model: "large" }, key);
    const replayed = await addAlias({ model: "once", target_model: "large" }, key);
    expect([replayed.status, replayed.body, replayed.headers.get("Idempotent-Replayed")]).toEqual([201, first.body, "true"]);
    const again = await addAlias({ model: "once", target_provider: "acme", target_model: "large" });
    expect([again.status, again.body]).toEqual([200, first.body]);
    const other = await addAlias({ model: "once", target_model: "small" });
    expect([other.status, other.body.code]).toEqual([409, "price_conflict"]);
    expect((await addAlias({ model: "once", target_model: null, effective_from: AT })).status).toBe(201);
    const { body } = await plane.operator<{ data: { target_model: string | null }[] }>(
      ...["GET", "/v1/price-aliases?provider=acme&model=once&order=asc"],
    );
    expect(body.data.map((one) => one.target_model)).toEqual(["large", null]);
    const page = await plane.operator<{ data: object[]; next_cursor: string }>("GET", "/v1/price-aliases?model=once&limit=1");
    const rest = await plane.operator<{ data: object[]; has_more: boolean }>(
      ...["GET", `/v1/price-aliases?model=once&limit=1&cursor=${page.body.next_cursor}`],
    );
    expect([page.body.data.length, rest.body.data.length, rest.body.has_more]).toEqual([1, 1, false]);
    expect(rest.body.data[0]).not.toEqual(page.body.data[0]);
    const trace = await plane.catalog("SELECT action FROM audit_events WHERE target = ?", first.body.id);
    expect(trace).toEqual([{ action: "price_alias.add" }]);
  });

  test.each([
    [{ model: "self", target_model: "self" }, "/target_model"],
    [{ model: "self", target_model: null, target_provider: "acme" }, "/target_provider"],
    [{ model: "self", target_model: "large", tenant_id: "ten_01m8ngf2z2esgbjasbkqkwx8bx" }, "/tenant_id"],
    [{ model: "self" }, "/target_model"],
  ])("is refused as %j", async (alias, pointer) => {
    const { status, body } = await addAlias(alias);
    expect([status, body.errors?.[0]?.pointer]).toEqual([422, pointer]);
  });
});

describe("what the provider says that a call cost", () => {
  const provider_cost = { amount: "0.0123", currency: "USD" };

  test("is shown beside ours, and changes nothing where ours is priced or the tenant does not trust it", async () => {
    const session = await plane.session(tenant);
    await record(session, { id: "priced", model: "acme/small", usage: { input: 1_000_000 }, provider_cost });
    await record(session, { id: "unpriced", model: "acme/gateway-1", usage: { input: 1 }, provider_cost });
    await record(session, { id: "silent", model: "acme/small", usage: { input: 1 } });
    const shown = { provider_cost: { amount: "0.012300000" } };
    expect(await explain(session, "priced")).toMatchObject({ ...shown, cost: { amount: "0.110000000" }, cost_source: "prices" });
    expect(await explain(session, "unpriced")).toMatchObject({ ...shown, cost: null, cost_source: null });
    expect((await explain(session, "silent")).provider_cost).toBeNull();
    await known(session, 3);
    const told = (await listed(`session_id=${session}`)).map((event) => [event.id, event.provider_cost?.amount ?? null]);
    expect(Object.fromEntries(told)).toEqual({ priced: "0.012300000", unpriced: "0.012300000", silent: null });
  });

  test("is the call's cost with the markup where a tenant trusts it, until prices are known", async () => {
    const trusting = await plane.tenant({ trust_provider_cost: true, markup_bps: 1_000 });
    const session = await plane.session(trusting);
    const event = { id: "a", model: "acme/gateway-2", usage: { input: 1_000, output: 100 }, provider_cost };
    expect((await record(session, event, trusting)).body.results[0]).toMatchObject({
      ...{ cost: { amount: "0.013530000" }, list_cost: { amount: "0.012300000" }, cost_source: "provider" },
      lines: [
        { class: "input", quantity: 1_000, price: null, list: { amount: "0.000000000" } },
        { class: "output", quantity: 100, price: null, list: { amount: "0.000000000" } },
        { class: "request", quantity: 0, price: null, list: { amount: "0.012300000" } },
      ],
    });
    await record(session, { id: "silent", model: "acme/gateway-2", usage: { input: 1 } }, trusting);
    const usage = async () => (await trusting.call<{ usage: object }>("GET", `/v1/sessions/${session}/usage`)).body.usage;
    expect(await usage()).toMatchObject({ events: 2, unpriced_events: 1, cost: { amount: "0.013530000" } });
    const again = await record(session, event, trusting);
    expect([again.status, again.body.results[0]?.status]).toEqual([200, "duplicate"]);
    const other = { ...event, provider_cost: { amount: "0.0124", currency: "USD" } };
    expect((await record(session, other, trusting)).status).toBe(409);

    await until("the catalog to know of the calls", async () => (await unpriced("gateway-2")).length === 1);
    await plane.addPrices("acme", "gateway-2", { input: "1" });
    // Output has no price yet: the provider's word goes on to hold.
    expect(await rerate("gateway-2")).toMatchObject({ changed: 1 });
    expect((await explain(session, "a", trusting)).cost_source).toBe("provider");
    await plane.addPrices("acme", "gateway-2", { output: "10" });
    await rerate("gateway-2");
    expect(await explain(session, "a", trusting)).toMatchObject({
      ...{ cost: { amount: "0.002200000" }, cost_source: "prices", provider_cost: { amount: "0.012300000" } },
      lines: [{ class: "input" }, { class: "output" }],
    });
    expect(await usage()).toMatchObject({ events: 2, unpriced_events: 0, cost: { amount: "0.002201100" } });
    const sums = await until("the report to follow", async () => {
      const path = "/v1/reports/cost?start=2026-01-01T00:00:00Z&end=2027-01-01T00:00:00Z&bucket=month&group_by=session";
      const { body } = await trusting.call<{ data: { cost: { amount: string }; events: number }[] }>("GET", path);
      return body.data[0]?.cost.amount === "0.002201100" ? body.data[0] : undefined;
    });
    expect(sums.events).toBe(2);
  });

  test("goes on to hold when its call is corrected, also where the tenant trusts it no more", async () => {
    const trusting = await plane.tenant({ trust_provider_cost: true });
    const session = await plane.session(trusting);
    await record(session, { id: "a", model: "acme/gateway-5", usage: { input: 1_000 }, provider_cost }, trusting);
    await plane.operator("PATCH", `/v1/tenants/${trusting.id}`, { settings: { trust_provider_cost: false } });
    const corrected = await plane.operator("POST", "/v1/usage-events/a/adjustments", {
      ...{ tenant_id: trusting.id, session_id: session, reason: "miscounted", usage: { input: 900 } },
    });
    expect(corrected.status).toBe(201);
    expect(await explain(session, "a", trusting)).toMatchObject({ cost: { amount: "0.012300000" }, cost_source: "provider" });
  });

  test("counts when a tenant comes to trust it and its calls are rated again", async () => {
    const careful = await plane.tenant();
    const session = await plane.session(careful);
    await record(session, { id: "a", model: "acme/gateway-3", usage: { input: 1 }, provider_cost }, careful);
    await until("the catalog to know of the call", async () => (await unpriced("gateway-3")).length === 1);
    expect(await rerate("gateway-3")).toMatchObject({ changed: 0 });
    await plane.operator("PATCH", `/v1/tenants/${careful.id}`, { settings: { trust_provider_cost: true } });
    expect(await rerate("gateway-3")).toMatchObject({ changed: 1 });
    expect(await explain(session, "a", careful)).toMatchObject({ cost: { amount: "0.012300000" }, cost_source: "provider" });
    await until("it to be listed no more", async () => (await unpriced("gateway-3")).length === 0);
  });

  test.each([
    [{ amount: "0.0123", currency: "EUR" }, "/event/provider_cost/currency"],
    [{ amount: 0.0123, currency: "USD" }, "/event/provider_cost/amount"],
    [{ amount: "-0.01", currency: "USD" }, "/event/provider_cost/amount"],
    [{ amount: "0.0000000001", currency: "USD" }, "/event/provider_cost/amount"],
    [{ amount: "99999999", currency: "USD" }, "/event/provider_cost/amount"],
  ])("is refused as %j", async (cost, pointer) => {
    const session = await plane.session(tenant);
    const refused = await record(session, { model: "acme/small", usage: { input: 1 }, provider_cost: cost });
    expect([refused.status, (refused.body as unknown as { errors: object[] }).errors[0]]).toMatchObject([422, { pointer }]);
  });
});

describe("a report that does not add up", () => {
  const usage = {
    ...{ prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 },
    prompt_tokens_details: { cached_tokens: 1_500 },
  };
  const why = "prompt_tokens is 1000, but its parts add up to 1500";

  test("is kept, billed for no more than its totals, and says so wherever it is shown", async () => {
    const session = await plane.session(tenant);
    const { status, body } = await record(session, { id: "odd", model: "acme/small", usage });
    expect(status).toBe(201);
    expect(body.results[0]).toMatchObject({ inconsistent: [why], lines: [{ class: "cache_read", quantity: 1_000 }, {}] });
    await record(session, { id: "even", model: "acme/small", usage: { input: 1 } });
    expect((await explain(session, "odd")).inconsistent).toEqual([why]);
    expect((await explain(session, "even")).inconsistent).toEqual([]);
    await known(session, 2);
    const flagged = await listed(`session_id=${session}&inconsistent=1`);
    expect(flagged.map(({ id, inconsistent }) => [id, inconsistent])).toEqual([["odd", [why]]]);
    const events = await tenant.call<{ data: Event[] }>("GET", `/v1/sessions/${session}/usage/events`);
    expect(events.body.data.map((event) => event.inconsistent)).toEqual([[], [why]]);
  });

  test("goes on to say so when it is rated again, and no more when it is corrected", async () => {
    const session = await plane.session(tenant);
    await record(session, { id: "odd", model: "acme/odd", usage });
    await known(session, 1);
    await plane.addPrices("acme", "odd", { input: "1", output: "1" });
    expect(await rerate("odd")).toMatchObject({ changed: 1 });
    expect((await explain(session, "odd")).inconsistent).toEqual([why]);
    await plane.operator("POST", "/v1/usage-events/odd/adjustments", {
      ...{ tenant_id: tenant.id, session_id: session, reason: "read again", usage: { input: 1_000, output: 100 } },
    });
    expect((await explain(session, "odd")).inconsistent).toEqual([]);
  });
});

describe("the user of a call", () => {
  test("is the session's at that moment where the caller names none, also of a compaction's calls", async () => {
    await plane.addPrices("builtin", "extractive", { input: "1", output: "2" });
    const settings = { compaction: { threshold: 600, keep_recent_tokens: 100, model: "builtin/extractive" } };
    const owner = await plane.tenant(settings);
    const session = await plane.session(owner, { user_id: "ann" });
    const event = { id: "a", model: "acme/small", usage: { input: 1_000_000 } };
    await record(session, event, owner);
    await record(session, { ...event, id: "b", user_id: "bob" }, owner);
    await owner.call("PATCH", `/v1/sessions/${session}`, { user_id: "eve" });
    expect((await record(session, event, owner)).body.results[0]?.status).toBe("duplicate");
    const messages = Array.from({ length: 20 }, (_, index) =>
      text(`m${index}`, index % 2 === 0 ? "user" : "assistant", "We went through the details of it. ".repeat(6)),
    );
    await owner.call("POST", `/v1/sessions/${session}/messages`, { messages });
    const path = "/v1/reports/cost?start=2026-01-01T00:00:00Z&end=2100-01-01T00:00:00Z&bucket=month&group_by=user";
    const spent = await until("the report to show the compaction", async () => {
      const range = path.replace("2100", String(new Date().getUTCFullYear() + 1));
      const { body } = await owner.call<{ data: { user_id: string; events: number }[] }>("GET", range);
      return body.data.length === 3 ? body.data : undefined;
    });
    expect(spent.map((row) => row.user_id).toSorted()).toEqual(["ann", "bob", "eve"]);
    const { body } = await owner.call<{ data: (Event & { purpose: string })[] }>("GET", `/v1/usage-events?user_id=eve`);
    expect(body.data.map((one) => one.purpose)).toEqual(["compaction"]);
  });
});

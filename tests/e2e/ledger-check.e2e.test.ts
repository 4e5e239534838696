/** Sums held against their events and made of them again, over HTTP, on a catalog that was tampered with. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, until } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;
let session: string;

const DAY = { start: "2026-03-01T00:00:00.000Z", end: "2026-03-02T00:00:00.000Z" };
type Check = { sound: boolean; rollups: Record<string, unknown>[]; sessions: Record<string, unknown>[] };

const ask = (call: "verify" | "rebuild", range: object = DAY) =>
  plane.operator<Check & { errors: { pointer: string }[] }>("POST", `/v1/ledger/${call}`, { tenant_id: tenant.id, ...range });
const report = async () => {
  const { status, body } = await tenant.call<{ data: object[]; totals: object }>(
    "GET",
    `/v1/reports/cost?start=${DAY.start}&end=${DAY.end}&bucket=hour&group_by=model`,
  );
  expect(status).toBe(200);
  return [body.data, body.totals];
};

/** Forty calls, some without a price, and a correction of one, all in the catalog. */
async function record(): Promise<void> {
  await plane.addPrices("acme", "m", { input: "1", output: "2" });
  session = await plane.session(tenant, { user_id: "ann" });
  const events = Array.from({ length: 40 }, (_, index) => ({
    ...{ id: `call-${index}`, provider: "acme", model: index % 7 === 0 ? "unpriced" : "m" },
    usage: { input: 1_003 + index, output: 7 },
    occurred_at: new Date(Date.parse(DAY.start) + index * 17 * 60_000).toISOString(),
  }));
  for (const event of events) {
    expect((await tenant.call("POST", `/v1/sessions/${session}/usage`, { event })).status).toBe(201);
  }
  const corrected = await plane.operator("POST", "/v1/usage-events/call-3/adjustments", {
    ...{ tenant_id: tenant.id, session_id: session, reason: "counted twice", usage: { input: 3, output: 7 } },
  });
  expect(corrected.status).toBe(201);
  await until("the correction to be in the catalog", async () => {
    const [row] = await plane.catalog<{ count: number }>("SELECT count(*) AS count FROM usage_events");
    return row?.count === 41;
  });
}

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant({ markup_bps: 1_000 });
  await record();
});
afterAll(() => plane.close());

test("what the projection counted one by one is what the events sum up to", async () => {
  const { status, body } = await ask("verify");
  expect([status, body]).toEqual([200, { sound: true, rollups: [], sessions: [] }]);
  const before = await report();
  expect((await ask("rebuild")).body.sound).toBe(true);
  expect(await report()).toEqual(before);
});

test("a rollup that is wrong or gone, and a session's wrong total, are told to the nano; a rebuild mends the rollups", async () => {
  const before = await report();
  await plane.catalog(
    "UPDATE usage_rollups SET billed_nano = billed_nano - 1 WHERE class = 'output' AND model = 'm' AND bucket < ?",
    Date.parse(DAY.start) + 1_800_000,
  );
  await plane.catalog(
    "DELETE FROM usage_rollups WHERE bucket >= ? AND bucket < ? AND class = 'input'",
    Date.parse("2026-03-01T05:00:00Z"),
    Date.parse("2026-03-01T05:15:00Z"),
  );
  await plane.catalog("UPDATE sessions SET billed_nano = billed_nano + 5 WHERE id = ?", session);
  const { body } = await ask("verify");
  expect(body.sound).toBe(false);
  expect(body.rollups.map(({ class: name, events, billed }) => [name, events, billed])).toContainEqual([
    ...["output", 0],
    { amount: "0.000000001", currency: "USD" },
  ]);
  expect(body.rollups.some(({ class: name, events }) => name === "input" && events === 1)).toBe(true);
  expect(body.sessions).toMatchObject([{ session_id: session, billed: { amount: "0.000000005" } }]);
  expect(await report()).not.toEqual(before);
  expect((await ask("rebuild")).body).toMatchObject({ sound: false, rollups: [] });
  expect(await report()).toEqual(before);
});

test.each([
  [{ start: DAY.end, end: DAY.start }, "/end"],
  [{ start: "2026-03-01T00:01:00Z", end: DAY.end }, "/start"],
  [{ ...DAY, end: "2026-06-01T00:00:00Z" }, "/end"],
  [{ ...DAY, tenant_id: "ten_01m8ngf2z2esgbjasbkqkwx8bx" }, "/tenant_id"],
])("a range that is none is refused: %j", async (range, pointer) => {
  const { status, body } = await ask("rebuild", range);
  expect([status, body.errors[0]?.pointer]).toEqual([422, pointer]);
});

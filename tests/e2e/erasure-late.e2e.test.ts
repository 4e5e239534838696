/** What was under way when a session was erased, or comes again afterwards, brings nothing back and bills nothing twice. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, until } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;
beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant();
  await plane.addPrices("p", "m", { input: "1" });
});
afterAll(() => plane.close());

type Erasure = { status: string };

async function erase(session: string): Promise<void> {
  expect((await tenant.call("DELETE", `/v1/sessions/${session}`)).status).toBeLessThan(300);
  await until("the erasure to be complete", async () => {
    const { body } = await tenant.call<Erasure>("GET", `/v1/sessions/${session}/erasure`);
    return body.status === "complete";
  });
}

test("a copy of an old session leaves no reply to the request that made it", async () => {
  const header = { kind: "session", format: "sessionplane/1", leaf_id: null, created_at: "2020-01-01T00:00:00.000Z" };
  const settings = { external_id: undefined, user_id: null, model: null, source: null, metadata: {}, tags: [], compaction: {} };
  const lines = `${JSON.stringify({ ...header, session: { ...settings, name: "zeppelin" } })}\n`;
  const headers = { "Content-Type": "application/x-ndjson", "Idempotency-Key": "import" };
  const make = () => tenant.call<{ id: string; code: string }>("POST", "/v1/sessions/import", lines, headers);
  const { status, body } = await make();
  expect([status, body]).toEqual([201, expect.anything()]);
  await erase(body.id);
  const kept = await plane.catalog("SELECT 1 FROM idempotency WHERE instr(body, 'zeppelin') > 0");
  expect(kept).toEqual([]);
  const again = await make();
  expect([again.status, again.body.code]).toEqual([410, "erased"]);
});

test("usage without an id that is sent again with its key counts once", async () => {
  const session = await plane.session(tenant);
  const path = `/v1/sessions/${session}/usage`;
  const events = [1, 2].map(() => ({ provider: "p", model: "m", usage: { input: 1_000_000 } }));
  const record = () => tenant.call("POST", path, { events }, { "Idempotency-Key": "usage" });
  expect((await record()).status).toBe(201);
  await erase(session);
  await record();
  const { body } = await tenant.call<{ usage: { events: number; cost: { amount: string } } }>("GET", path);
  expect([body.usage.events, body.usage.cost.amount]).toEqual([2, "2.000000000"]);
});

/** Old usage goes to files and days; what it cost stays the same to the nano, whatever comes late or again. */
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, until } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;
let sessions: string[];

const ZONE = "Asia/Kathmandu";
/** Three days of the zone, which is 5:45 ahead. */
const START = "2026-03-01T18:15:00.000Z";
const END = "2026-03-04T18:15:00.000Z";
const CALLS = 60;

type Step = { files: number; events: number; quarters: number; waiting: number; has_more: boolean; next_cursor: string | null };
type Check = { sound: boolean; rollups: object[]; sessions: object[] };
type Report = { data: object[]; totals: { cost: { amount: string }; events: number } };

const report = async (query = "bucket=day&group_by=model,session,token_class"): Promise<Report> => {
  const path = `/v1/reports/cost?start=${START}&end=${END}&timezone=${ZONE}&${query}`;
  const { status, body } = await tenant.call<Report>("GET", path);
  expect(status).toBe(200);
  return { data: body.data, totals: body.totals };
};
const ask = async <T>(call: string, body: object = { start: START, end: END }): Promise<T> => {
  const reply = await plane.operator<T>("POST", `/v1/ledger/${call}`, { tenant_id: tenant.id, ...body });
  expect([reply.status, reply.body]).toEqual([200, expect.anything()]);
  return reply.body;
};
const archiveAll = async (before = "2026-04-01T00:00:00Z"): Promise<Step[]> => {
  const steps: Step[] = [];
  do {
    const cursor = steps.at(-1)?.next_cursor ?? undefined;
    steps.push(await ask<Step>("archive", { before, cursor }));
  } while (steps.at(-1)?.has_more);
  return steps;
};
const count = async (table: string): Promise<number> =>
  (await plane.catalog<{ count: number }>(`SELECT count(*) AS count FROM ${table} WHERE tenant_id = ?`, tenant.id))[0]?.count ??
  0;
/** Everything that was recorded has been told and confirmed. */
const settled = () =>
  until("the catalog to follow", async () => {
    const behind = await Promise.all(
      sessions.map((id) =>
        plane.objectRows(tenant, id, "SELECT 1 FROM session WHERE projected_seq < (SELECT max(seq) FROM usage_events)"),
      ),
    );
    return behind.every((rows) => rows.length === 0);
  });

async function record(session: string, events: object[]): Promise<void> {
  expect((await tenant.call("POST", `/v1/sessions/${session}/usage`, { events })).status).toBe(201);
}

beforeAll(async () => {
  plane = await startPlane({ api: { LEDGER_KEPT_DAYS: "30" } });
  tenant = await plane.tenant({ markup_bps: 777, billing_timezone: ZONE });
  await plane.addPrices("acme", "m", { input: "1.37", output: "2.11" });
  sessions = [await plane.session(tenant, { user_id: "ann" }), await plane.session(tenant)];
  for (const [which, session] of sessions.entries()) {
    const events = Array.from({ length: CALLS }, (_, index) => ({
      ...{ id: `call-${which}-${index}`, provider: "acme", model: index % 9 === 0 ? "unpriced" : "m" },
      ...{ usage: { input: 1_003 + index, output: 7 }, user_id: index % 2 === 0 ? "ann" : "bob" },
      occurred_at: new Date(Date.parse(START) + index * 71 * 60_000).toISOString(),
    }));
    await record(session, events);
  }
  const corrected = await plane.operator("POST", "/v1/usage-events/call-0-3/adjustments", {
    ...{ tenant_id: tenant.id, session_id: sessions[0], reason: "counted twice", usage: { input: 3, output: 7 } },
  });
  if (corrected.status !== 201) throw new Error(JSON.stringify(corrected.body));
  await until("all of it to be in the catalog", async () => (await count("usage_events")) === 2 * CALLS + 1);
  await settled();
});
afterAll(() => plane.close());

describe("old usage", () => {
  let before: Report;

  test("goes to files and days, by two who ask at once, and costs the same", async () => {
    before = await report();
    const month = await report("bucket=month");
    expect((await ask<Check>("verify")).sound).toBe(true);
    const [one, two] = await Promise.all([archiveAll(), archiveAll()]);
    const events = [...one, ...two].reduce((sum, step) => sum + step.events, 0);
    expect(events).toBe(2 * CALLS + 1);
    expect([await count("usage_events"), await count("usage_rollups")]).toEqual([0, 0]);
    expect(await count("usage_days")).toBeGreaterThan(0);
    expect(await report()).toEqual(before);
    expect(await report("bucket=month")).toEqual(month);
    expect(await ask<Check>("verify")).toEqual({ sound: true, rollups: [], sessions: [] });
  });

  test("stands in R2 as the manifest says", async () => {
    const prefix = `${tenant.id}/usage/`;
    const list = await plane.operator<{ data: { key: string; sha256: string; events: number }[] }>(
      "GET",
      `/v1/ledger/archives?tenant_id=${tenant.id}&order=asc`,
    );
    const files = list.body.data;
    const keys = await plane.contentKeys(prefix);
    expect(keys.toSorted()).toEqual([...files.map(({ key }) => key), `${prefix}manifest.json`].toSorted());
    const manifest = JSON.parse((await plane.content(`${prefix}manifest.json`)).toString()) as { files: object[] };
    expect(manifest.files).toEqual(files);
    const ids: string[] = [];
    for (const { key, sha256, events } of files) {
      const bytes = await plane.content(key);
      expect(createHash("sha256").update(bytes).digest("hex")).toBe(sha256);
      const lines = gunzipSync(bytes).toString().trim().split("\n");
      expect(lines).toHaveLength(events);
      ids.push(...lines.map((line) => (JSON.parse(line) as { event: { id: string } }).event.id));
    }
    expect(new Set(ids).size).toBe(2 * CALLS + 1);
  });

  test.each([
    [{ bucket: "hour" }, "one day"],
    [{ timezone: "UTC" }, "one day"],
    [{ bucket: "month", start: "2026-03-01T18:16:00Z" }, "quarters of an hour"],
  ])("is not shown finer than it is kept: %j", async (asked, words) => {
    const query = new URLSearchParams({ start: START, end: END, timezone: ZONE, bucket: "day", ...asked });
    const path = `/v1/reports/cost?${query.toString()}`;
    const { status, body } = await tenant.call("GET", path);
    expect([status, body["code"]]).toEqual([422, "range_too_fine"]);
    expect(body["detail"]).toContain(words);
  });

  test("is not counted again when its sessions tell everything again", async () => {
    for (const session of sessions) {
      await plane.operator("POST", "/v1/operations/repair", { tenant_id: tenant.id, session_id: session });
    }
    await settled();
    expect([await count("usage_events"), await count("usage_rollups")]).toEqual([0, 0]);
    expect(await report()).toEqual(before);
    expect((await ask<Check>("verify")).sound).toBe(true);
  });

  test("takes what comes late, and corrections, and stays sound", async () => {
    const late = { id: "late", provider: "acme", model: "m", usage: { input: 1_000_000 }, occurred_at: START };
    await record(sessions[1] ?? "", [late]);
    const corrected = await plane.operator("POST", "/v1/usage-events/call-1-5/adjustments", {
      ...{ tenant_id: tenant.id, session_id: sessions[1], reason: "never happened" },
    });
    expect(corrected.status).toBe(201);
    await until("both to be there", async () => (await count("usage_events")) === 2);
    await settled();
    const mixed = await report();
    expect(mixed.totals.events).toBe(before.totals.events + 1);
    expect((await ask<Check>("verify")).sound).toBe(true);
    await archiveAll();
    expect([await count("usage_events"), await count("usage_rollups")]).toEqual([0, 0]);
    expect(await report()).toEqual(mixed);
    expect((await ask<Check>("verify")).sound).toBe(true);
    before = mixed;
  });

  test("is explained by its session", async () => {
    const path = `/v1/usage-events/call-1-5/explain?session_id=${sessions[1]}`;
    const { status, body } = await tenant.call<{ adjustments: object[]; cost: { amount: string } }>("GET", path);
    expect([status, body.adjustments.length, body.cost.amount]).toEqual([200, 1, "0.000000000"]);
  });

  test("is rebuilt from its files when a day is wrong, and a wrong day is told", async () => {
    await plane.catalog(
      "UPDATE usage_days SET billed_nano = billed_nano + 1 WHERE tenant_id = ? AND class = 'output'",
      tenant.id,
    );
    await plane.catalog("DELETE FROM usage_days WHERE tenant_id = ? AND user_id = 'bob' AND class = 'input'", tenant.id);
    const wrong = await ask<Check>("verify");
    expect([wrong.sound, wrong.rollups.length > 2]).toEqual([false, true]);
    expect((await ask<Check>("rebuild")).sound).toBe(true);
    expect(await report()).toEqual(before);
    await archiveAll();
    expect(await count("usage_rollups")).toBe(0);
    expect(await report()).toEqual(before);
  });

  test("is verified for whole days alone", async () => {
    const cut = { tenant_id: tenant.id, start: "2026-03-02T00:00:00Z", end: END };
    const { status, body } = await plane.operator<{ errors: { pointer: string }[] }>("POST", "/v1/ledger/verify", cut);
    expect([status, body.errors[0]?.pointer]).toEqual([422, "/start"]);
  });

  test("whose file was changed is told, and not counted without it", async () => {
    const [row] = await plane.catalog<{ key: string }>("SELECT key FROM usage_archives WHERE tenant_id = ?", tenant.id);
    const bytes = await plane.content(row?.key ?? "");
    await plane.putContent(row?.key ?? "", Buffer.concat([bytes, Buffer.from("x")]));
    const range = { tenant_id: tenant.id, start: START, end: END };
    for (const call of ["verify", "rebuild"]) {
      const { status, body } = await plane.operator("POST", `/v1/ledger/${call}`, range);
      expect([status, body["code"]]).toEqual([500, "archive_damaged"]);
      expect(String(body["detail"])).toContain(row?.key);
    }
    await plane.putContent(row?.key ?? "", bytes);
    expect((await ask<Check>("verify")).sound).toBe(true);
  });
});

test("a session goes on: its newer calls stay, and its older ones are archived up to the first of them", async () => {
  const session = await plane.session(tenant);
  sessions.push(session);
  const at = (day: number) => ({ occurred_at: `2026-05-0${day}T12:00:00.000Z` });
  const call = (id: string, day: number) => ({ id, provider: "acme", model: "m", usage: { input: 10 }, ...at(day) });
  await record(session, [call("a", 1), call("b", 2), call("c", 8), call("d", 1)]);
  await until("them to be there", async () => (await count("usage_events")) === 4);
  await settled();
  await archiveAll("2026-05-05T00:00:00Z");
  const left = await plane.catalog<{ id: string }>(
    "SELECT event_id AS id FROM usage_events WHERE session_id = ? ORDER BY id",
    session,
  );
  expect(left.map(({ id }) => id)).toEqual(["c", "d"]);
  const range = { start: "2026-04-30T18:15:00Z", end: "2026-05-09T18:15:00Z" };
  expect((await ask<Check>("verify", range)).sound).toBe(true);
  await archiveAll("2026-05-10T00:00:00Z");
  expect(await count("usage_events")).toBe(0);
  expect((await ask<Check>("verify", range)).sound).toBe(true);
});

test("the sweep archives what is older than the plane keeps it", async () => {
  const other = await plane.tenant();
  const session = await plane.session(other);
  const old = { provider: "acme", model: "m", usage: { input: 5 }, occurred_at: "2026-01-01T00:00:00Z" };
  await other.call("POST", `/v1/sessions/${session}/usage`, { events: [old, { ...old, occurred_at: new Date().toISOString() }] });
  const events = () => plane.catalog("SELECT 1 FROM usage_events WHERE tenant_id = ?", other.id);
  await until("them to be there", async () => (await events()).length === 2);
  await until("the old one to be archived", async () => {
    await plane.sweep();
    return (await events()).length === 1;
  });
});

test.each([
  [{ before: "2999-01-01T00:00:00Z" }, "/before"],
  [{ before: "yesterday" }, "/before"],
  [{ tenant_id: "ten_01m8ngf2z2esgbjasbkqkwx8bx" }, "/tenant_id"],
])("what can't be archived is refused: %j", async (body, pointer) => {
  const reply = await plane.operator<{ errors: { pointer: string }[] }>("POST", "/v1/ledger/archive", {
    tenant_id: tenant.id,
    ...body,
  });
  expect([reply.status, reply.body.errors[0]?.pointer]).toEqual([422, pointer]);
});

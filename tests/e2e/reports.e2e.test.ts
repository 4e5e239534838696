/** Reports by tag, streamed, exact and explained, and what a session cost with all that came of it. On the real plane. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Money, formatMoney, parseMoney } from "@sessionplane/shared/money";
import type { CostRow, ReportTotals } from "@sessionplane/shared/report";
import type { SessionCost } from "@sessionplane/shared/session-cost";
import { type Call, type Plane, type Tenant, startPlane, text, until } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

const DAY = Date.parse("2026-03-01T00:00:00Z");
const DAYS = "start=2026-03-01T00:00:00Z&end=2026-04-01T00:00:00Z";
const at = (minutes: number) => new Date(DAY + minutes * 60_000).toISOString();

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant({ markup_bps: 1_000 });
  await plane.addPrices("acme", "m", { input: "0.15", output: "0.6" });
});
afterAll(() => plane.close());

type Event = { id: string; [name: string]: unknown };
const event = (id: string, rest: object = {}): Event => ({
  ...{ id, provider: "acme", model: "m", usage: { input: 1_003, output: 7 }, occurred_at: at(61) },
  ...rest,
});
async function record(session: string, ...events: Event[]): Promise<void> {
  const { status, body } = await tenant.call("POST", `/v1/sessions/${session}/usage`, { events });
  if (status !== 201) throw new Error(`not recorded: ${JSON.stringify(body)}`);
}

type Report = { data: CostRow[]; totals: ReportTotals; as_of: string; events_since: string | null };
const report = async (query: string, call: Call = tenant.call) => (await call<Report>("GET", `/v1/reports/cost?${query}`)).body;
const get = async (path: string, accept: string) =>
  fetch(new URL(path, plane.url), { headers: { Authorization: `Bearer ${tenant.key}`, Accept: accept } });
const sum = (all: readonly Money[]): Money => formatMoney(all.reduce((total, one) => total + parseMoney(one), 0n));

describe("calls with tags", () => {
  let session: string;
  const only = () => `${DAYS}&session_id=${session}`;
  beforeAll(async () => {
    session = await plane.session(tenant);
    await record(
      session,
      event("a", { tags: { team: "red", 'odd, "key"': "1" } }),
      event("b", { tags: { team: "red" }, user_id: "ann" }),
      event("c", { tags: { team: "" }, occurred_at: at(60 * 24 * 5) }),
      event("d", { user_id: "ann", model: "unheard-of" }),
    );
  });

  test("are grouped by one key or several, null where a call has none", async () => {
    const byTeam = await report(`${only()}&exact=1&bucket=month&group_by=tag.team`);
    expect(byTeam.data.map(({ tags, events }) => [tags, events])).toEqual([
      [{ team: "" }, 1],
      [{ team: "red" }, 2],
      [{ team: null }, 1],
    ]);
    expect([byTeam.totals.events, byTeam.events_since]).toEqual([4, null]);
    const key = encodeURIComponent(String.raw`tag.team,user,tag.odd\, "key"`);
    const byBoth = await report(`${only()}&bucket=month&group_by=${key}`);
    expect(byBoth.data.map(({ tags, user_id: user, events }) => [tags, user, events])).toContainEqual([
      { team: "red", 'odd, "key"': "1" },
      null,
      1,
    ]);
    expect(sum(byBoth.data.map(({ cost }) => cost))).toEqual(byTeam.totals.cost);
    expect((await report(only())).totals).toEqual(byTeam.totals);
  });

  test("a key that is none is refused", async () => {
    const { status, body } = await tenant.call("GET", `/v1/reports/usage?${only()}&group_by=tag.`);
    expect([status, body["code"]]).toEqual([422, "invalid"]);
  });

  test("CSV has them in one column, NDJSON a row a line with the totals last", async () => {
    const path = `/v1/reports/cost?${only()}&group_by=tag.team,model`;
    const whole = await report(`${only()}&group_by=tag.team,model`);
    const ndjson = await get(path, "application/x-ndjson");
    expect(ndjson.headers.get("Content-Type")).toBe("application/x-ndjson");
    const lines = (await ndjson.text()).trimEnd().split("\n");
    const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(parsed.slice(0, -1)).toEqual(whole.data);
    expect(parsed.at(-1)).toMatchObject({ totals: whole.totals, group_by: ["model", "tag.team"], timezone: "UTC" });
    expect(parsed.at(-1)).toHaveProperty("as_of");
    const csv = await (await get(path, "text/csv")).text();
    const [head, ...rows] = csv.trimEnd().split("\r\n");
    expect(head).toMatch(/^start,.*,unpriced_events,tags$/);
    expect(rows).toHaveLength(whole.data.length);
    expect(csv).toContain(`,"{""team"":""red""}"`);
  });

  test("a cell is explained to the nano, also by tags and by what has none", async () => {
    type Explained = { lines: Record<string, unknown>[]; totals: Record<string, unknown> };
    const explain = async (query: string) => (await tenant.call<Explained>("GET", `/v1/reports/explain?${query}`)).body;
    const { data } = await report(`${only()}&bucket=month&group_by=tag.team,model`);
    for (const row of data) {
      const team = row.tags?.["team"] ?? null;
      const tag = team === null ? "without_tag=team" : `tag[team]=${team}`;
      const { totals } = await explain(`${only()}&model=${row.model}&${tag}`);
      const { events, cost, list_cost, unpriced_events } = row;
      expect(totals).toEqual({ events, cost, list_cost, unpriced_events, adjustments: 0 });
    }
    const red = await explain(`${only()}&exact=1&tag[team]=red`);
    expect(red.lines).toMatchObject([
      {
        ...{ class: "input", events: 2, quantity: 2_006, product: "0.000300900000000", rounding: "0.000000000000000" },
        ...{ price: { usd_per_million: "0.15" }, list: { amount: "0.000300900" }, billed: { amount: "0.000330990" } },
      },
      { class: "output", events: 2, quantity: 14 },
    ]);
    const unpriced = await explain(`${only()}&model=unheard-of&class=input`);
    expect(unpriced.lines).toMatchObject([{ class: "input", price: null, list: null, billed: null, product: null }]);
    expect(unpriced.totals).toMatchObject({ events: null, unpriced_events: null });
    const unknown = await tenant.call("GET", `/v1/reports/explain?${only()}&tags=x`);
    expect([unknown.status, unknown.body["code"]]).toEqual([400, "unknown_parameter"]);
  });
});

test("a stream that fails half way breaks off instead of ending", async () => {
  const other = await plane.tenant();
  const session = await plane.session(other);
  await other.call("POST", `/v1/sessions/${session}/usage`, { event: event("first") });
  await report(`${DAYS}&exact=1`, other.call);
  // Many rows on the first day, so that the beginning is on its way; a broken one on the 25th.
  await plane.catalog(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
     INSERT INTO usage_events (tenant_id, session_id, event_id, seq, provider, model, purpose, status, occurred_at, recorded_at,
       list_nano, billed_nano, unpriced, event)
     SELECT tenant_id, session_id, 'e' || i, i + 100, provider, model, purpose, status, occurred_at + (i = 3000) * 86400000 * 25,
       recorded_at, 0, 0, 0, CASE WHEN i = 3000 THEN '{' ELSE json_set(event, '$.tags.n', 'number ' || i) END
     FROM n, usage_events WHERE tenant_id = ?`,
    other.id,
  );
  const path = `/v1/reports/usage?${DAYS}&group_by=tag.n`;
  const response = await fetch(new URL(path, plane.url), {
    headers: { Authorization: `Bearer ${other.key}`, Accept: "text/csv" },
  });
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow("terminated");
  await plane.catalog("UPDATE usage_events SET event = '{' WHERE tenant_id = ?", other.id);
  const failed = await other.call("GET", path, undefined, { Accept: "text/csv" });
  expect([failed.status, failed.body["code"]]).toEqual([500, "internal"]);
});

test("a stream goes past the rows that JSON is limited to", async () => {
  const many = await plane.tenant();
  await plane.catalog(
    `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 50999)
     INSERT INTO usage_rollups SELECT ?1, ?2 + (i % 3) * 86400000, 'ses_' || i, '', 'p', 'm', 'turn', 'input', 1, i, i, i, 0 FROM n`,
    many.id,
    DAY,
  );
  const path = `/v1/reports/usage?${DAYS}&group_by=session`;
  const json = await many.call("GET", path);
  expect([json.status, json.body["code"]]).toEqual([422, "range_too_fine"]);
  const { body } = await many.call<unknown>("GET", path, undefined, { Accept: "application/x-ndjson" });
  const lines = String(body).trimEnd().split("\n");
  expect(lines).toHaveLength(51_001);
  expect(new Set(lines.slice(0, -1)).size).toBe(51_000);
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({
    totals: { events: 51_000, quantities: { input: (51_000 * 50_999) / 2 } },
  });
});

describe("an exact report", () => {
  test("has what was recorded a moment ago, once, also when the queue brings it again", async () => {
    const fresh = await plane.tenant();
    const sessions = [await plane.session(fresh), await plane.session(fresh)];
    const call = async (session: string, id: string) =>
      fresh.call("POST", `/v1/sessions/${session}/usage`, { events: [event(id, { user_id: "ann" })] });
    for (let round = 1; round <= 5; round++) {
      for (const session of sessions) await call(session, `e${round}`);
      const before = Date.now();
      const { totals, as_of } = await report(`${DAYS}&exact=1`, fresh.call);
      expect([totals.events, Date.parse(as_of) >= before]).toEqual([round * 2, true]);
      expect((await report(`${DAYS}&exact=1&user_id=ann&session_id=${sessions[0]}`, fresh.call)).totals.events).toBe(round);
    }
    await until("the queue to have brought all", async () => {
      const [row] = await plane.catalog<{ events: number }>(
        "SELECT usage_events AS events FROM sessions WHERE id = ?",
        sessions[1],
      );
      return row?.events === 5;
    });
    const sums = await plane.operator<{ sound: boolean }>("POST", "/v1/ledger/verify", {
      ...{ tenant_id: fresh.id, start: "2026-03-01T00:00:00Z", end: "2026-03-02T00:00:00Z" },
    });
    expect([sums.body.sound, (await report(DAYS, fresh.call)).totals.events]).toEqual([true, 10]);
  });

  test("has what an erased session has spent", async () => {
    const fresh = await plane.tenant();
    const session = await plane.session(fresh);
    await fresh.call("POST", `/v1/sessions/${session}/usage`, { event: event("before") });
    await fresh.call("DELETE", `/v1/sessions/${session}`);
    await fresh.call("POST", `/v1/sessions/${session}/usage`, { event: event("late") });
    expect((await report(`${DAYS}&exact=1`, fresh.call)).totals.events).toBe(2);
    const byOperator = await report(`${DAYS}&exact=1&session_id=${session}`, plane.operator);
    expect(byOperator.totals.events).toBe(2);
  });

  test("is refused where too many sessions would have to be asked", async () => {
    const all = await plane.operator("GET", `/v1/reports/cost?${DAYS}&exact=1`);
    expect([all.status, all.body["code"]]).toEqual([422, "too_many_sessions"]);
    const crowded = await plane.tenant();
    const session = await plane.session(crowded, { user_id: "ann" });
    await until(
      "its row",
      async () => (await plane.catalog("SELECT 1 FROM sessions WHERE id = ? AND seq > 0", session)).length === 1,
    );
    await plane.catalog(
      `WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
       INSERT INTO sessions (id, tenant_id, user_id, status, metadata, tags, settings, message_count, token_estimate, compaction_state,
         usage_events, input_tokens, output_tokens, list_nano, billed_nano, unpriced_events, revision, seq, swept_at, created_at, updated_at)
       SELECT 'ses_none' || i, tenant_id, 'bob', status, metadata, tags, settings, 0, 0, compaction_state, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0
       FROM n, sessions WHERE id = ?`,
      session,
    );
    const refused = await crowded.call("GET", `/v1/reports/explain?${DAYS}&exact=1`);
    expect([refused.status, refused.body["code"]]).toEqual([422, "too_many_sessions"]);
    await crowded.call("POST", `/v1/sessions/${session}/usage`, { event: event("mine", { user_id: "ann" }) });
    for (const named of [`session_id=${session}`, "user_id=ann"])
      expect((await report(`${DAYS}&exact=1&${named}`, crowded.call)).totals.events).toBe(1);
  });
});

describe("what a session cost", () => {
  const costOf = async (session: string, call: Call = tenant.call) =>
    (await call<SessionCost>("GET", `/v1/sessions/${session}/cost`)).body;
  const fork = async (session: string, message: string) =>
    (await tenant.call<{ id: string }>("POST", `/v1/sessions/${session}/fork`, { at_message_id: message })).body.id;

  test("is split into its own calls, compaction and what came of it, by user and by branch", async () => {
    const root = await plane.session(tenant);
    await tenant.call("POST", `/v1/sessions/${root}/messages`, {
      messages: [text("q", "user", "q"), text("a1", "assistant", "a")],
    });
    await tenant.call("POST", `/v1/sessions/${root}/messages`, { message: text("a2", "assistant", "b"), parent_id: "q" });
    await record(
      root,
      event("1", { message_id: "q", user_id: "ann" }),
      event("2", { message_id: "a1", user_id: "ann" }),
      event("3", { message_id: "a2", user_id: "bob" }),
      event("4", { purpose: "compaction" }),
    );
    const fix = { tenant_id: tenant.id, session_id: root, reason: "less", usage: { input: 3, output: 7 } };
    expect((await plane.operator("POST", "/v1/usage-events/2/adjustments", fix)).status).toBe(201);
    const child = await fork(root, "a1");
    const grandchild = await fork(child, "a1");
    await record(grandchild, event("5"));
    await tenant.call("DELETE", `/v1/sessions/${child}`);
    const split = await until("the grandchild's call", async () => {
      const found = await costOf(root);
      return found.descendants.events === 1 && found;
    });
    expect([split.own.events, split.compaction.events, split.descendants.sessions]).toEqual([3, 1, 2]);
    expect(split.total.cost).toEqual(sum([split.own.cost, split.compaction.cost, split.descendants.cost]));
    expect(split.total).toMatchObject({ events: 5, input_tokens: 1_003 * 4 + 3, output_tokens: 35, unpriced_events: 0 });
    const { body } = await tenant.call<{ usage: { cost: Money } }>("GET", `/v1/sessions/${root}/usage`);
    expect(sum([split.own.cost, split.compaction.cost])).toEqual(body.usage.cost);
    expect(split.by_user.map(({ user_id: user, own, compaction }) => [user, own.events, compaction.events])).toEqual([
      [null, 0, 1],
      ["ann", 2, 0],
      ["bob", 1, 0],
    ]);
    expect(split.by_branch.map((one) => [one.leaf_id, one.on_path.input_tokens, one.only_here.input_tokens])).toEqual([
      ["a2", 2_006, 1_003],
      ["a1", 1_006, 3],
    ]);
    expect([split.unattached.events, split.has_more]).toEqual([1, false]);
    const fork1 = await costOf(child);
    expect([fork1.own.events, fork1.by_branch, fork1.descendants.events]).toEqual([0, [], 1]);
    expect(await costOf(root, plane.operator)).toMatchObject({ total: split.total });
  });

  test("ends where a chain of parents leads back to itself", async () => {
    const [one, two] = [await plane.session(tenant), await plane.session(tenant)];
    await record(two, event("1"));
    await until("both rows", async () => (await costOf(one)).as_of);
    await plane.catalog("UPDATE sessions SET parent_session_id = ? WHERE id = ?", one, two);
    await plane.catalog("UPDATE sessions SET parent_session_id = ? WHERE id = ?", two, one);
    const split = await until("the call", async () => {
      const found = await costOf(one);
      return found.descendants.events === 1 && found;
    });
    expect(split.descendants.sessions).toBe(1);
  });

  test("is explained at once, and another tenant's is not there", async () => {
    const session = await plane.session(tenant);
    await record(session, event("1"), event("2", { model: "unheard-of" }));
    const path = `/v1/sessions/${session}/usage/explain`;
    type Explained = { lines: { price: object | null }[]; totals: { events: number; cost: Money } };
    const { body } = await tenant.call<Explained>("GET", path);
    expect(body.totals).toMatchObject({ events: 2, unpriced_events: 1, adjustments: 0, cost: { amount: "0.000170115" } });
    expect(body.lines.map(({ price }) => price === null)).toEqual([false, false, true, true]);
    const stranger = await plane.tenant();
    for (const one of [path, `/v1/sessions/${session}/cost`])
      for (const [call, query] of [
        [stranger.call, ""],
        [plane.operator, `?tenant_id=${stranger.id}`],
      ] as const)
        expect((await call("GET", `${one}${query}`)).body).toMatchObject({ status: 404, code: "not_found" });
    const named = await stranger.call<Report>("GET", `/v1/reports/cost?${DAYS}&exact=1&session_id=${session}`);
    expect(named.body.data).toEqual([]);
    const erased = await tenant.call("DELETE", `/v1/sessions/${session}`);
    expect(erased.status < 300).toBe(true);
    expect((await tenant.call<Explained>("GET", path)).body.totals).toEqual(body.totals);
    expect(await costOf(session)).toMatchObject({ own: { events: 2 }, by_branch: [] });
  });
});

test("once old calls are archived, reports say how far tags reach, and a session still explains all of its own", async () => {
  const old = await plane.tenant();
  const session = await plane.session(old);
  const events = [
    event("old", { tags: { team: "red" } }),
    event("new", { tags: { team: "red" }, occurred_at: at(60 * 24 * 20) }),
  ];
  await old.call("POST", `/v1/sessions/${session}/usage`, { events });
  const before = await report(`${DAYS}&exact=1&bucket=month`, old.call);
  await until("the old call to be archived", async () => {
    const asked = { tenant_id: old.id, before: at(60 * 24 * 10) };
    await plane.operator("POST", "/v1/ledger/archive", asked);
    return (await plane.catalog("SELECT 1 FROM usage_archives WHERE tenant_id = ?", old.id)).length === 1;
  });
  const whole = await report(`${DAYS}&bucket=month`, old.call);
  expect([whole.totals, whole.events_since]).toEqual([before.totals, "2026-03-01T01:01:00.001Z"]);
  const lines = String(
    (await old.call<unknown>("GET", `/v1/reports/cost?${DAYS}&bucket=month`, undefined, { Accept: "application/x-ndjson" })).body,
  );
  expect(JSON.parse(lines.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ totals: before.totals });
  const byTag = await report(`${DAYS}&bucket=month&group_by=tag.team`, old.call);
  expect([byTag.totals.events, byTag.events_since]).toEqual([1, whole.events_since]);
  type Explained = { totals: { events: number }; events_since: string | null };
  const { body } = await old.call<Explained>("GET", `/v1/reports/explain?${DAYS}`);
  expect([body.totals.events, body.events_since]).toEqual([1, whole.events_since]);
  const own = await old.call<Explained>("GET", `/v1/sessions/${session}/usage/explain`);
  expect(own.body.totals).toMatchObject({ events: 2, cost: before.totals.cost });
});

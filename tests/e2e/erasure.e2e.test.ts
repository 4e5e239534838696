/** A session is erased: nothing of it is found in any store, its usage stays, and nobody else notices. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Call, type Plane, type Tenant, startPlane, text, until } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;
beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant({ compaction: { threshold: 400, keep_recent_tokens: 50 } });
  await plane.addPrices("p", "m", { input: "1" });
});
afterAll(() => plane.close());

type Erasure = {
  id: string;
  status: string;
  erased_at: string;
  stores: { session: { removed: Record<string, number> }; objects: { left: number } };
  kept: { usage_events: number };
};
type Page = { data: { id: string }[] };
const SECRET = "xylophone";
const YEAR = `start=${new Date().getUTCFullYear()}-01-01T00:00:00Z&end=${new Date().getUTCFullYear() + 1}-01-01T00:00:00Z`;

/** With its secret in every store. */
async function furnished(name: string, key: string): Promise<string> {
  const create = { name: `${SECRET} ${name}`, external_id: name, metadata: { secret: SECRET }, tags: [SECRET], user_id: SECRET };
  const { body } = await tenant.call<{ id: string }>("POST", "/v1/sessions", create, { "Idempotency-Key": key });
  const path = `/v1/sessions/${body.id}`;
  const messages: object[] = Array.from({ length: 16 }, (_, index) =>
    text(`m${index}`, "user", `The secret is ${SECRET}, said ${index} times. `.repeat(3)),
  );
  const url = `data:image/png;base64,${Buffer.alloc(300_000, name).toString("base64")}`;
  messages.push({ id: "picture", role: "user", parts: [{ type: "file", mediaType: "image/png", url }] });
  await tenant.call("POST", `${path}/messages`, { messages });
  await tenant.call("POST", `${path}/usage`, { event: { id: "paid", provider: "p", model: "m", usage: { input: 1_000_000 } } });
  await until("the job to end", async () => {
    const jobs = await tenant.call<{ data: { state: string }[] }>("GET", `${path}/compaction-jobs`);
    return jobs.body.data[0]?.state === "applied";
  });
  return body.id;
}

const complete = (session: string): Promise<Erasure> =>
  until("the erasure to be complete", async () => {
    const { status, body } = await tenant.call<Erasure>("GET", `/v1/sessions/${session}/erasure`);
    return status === 200 && body.status === "complete" && body;
  });
const idsOf = async (path: string): Promise<string[]> => (await tenant.call<Page>("GET", path)).body.data.map(({ id }) => id);

/** Every row of D1, as text. */
async function catalogText(): Promise<string> {
  const tables = await plane.catalog<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*' AND name NOT GLOB 'sqlite_*'",
  );
  const rows = await Promise.all(tables.map(({ name }) => plane.catalog(`SELECT * FROM ${name}`)));
  return JSON.stringify(rows);
}

describe("a session that is erased", () => {
  let session: string;
  let erased: Erasure;
  let fork: string;
  beforeAll(async () => {
    session = await furnished("first", "made-first");
    const path = `/v1/sessions/${session}`;
    fork = (await tenant.call<{ id: string }>("POST", `${path}/fork`, { at_message_id: "m2", name: "a fork" })).body.id;
    await until("the index to have it", async () => {
      const { body } = await tenant.call<{ data: object[] }>("GET", `/v1/search?q=${SECRET}&session_id=${session}`);
      return body.data.length > 0;
    });
    await until("the list to have its fork", async () => (await idsOf("/v1/sessions?q=fork")).includes(fork));
    await until("R2 to hold the picture", async () => (await plane.contentKeys(`${tenant.id}/${session}/`)).length === 1);
    const { body } = await tenant.call<Erasure>("DELETE", path);
    erased = body;
  });

  test("answers with a receipt, and with the same one when it is asked for again", async () => {
    expect(erased.id).toMatch(/^era_/);
    expect(erased.stores.session.removed).toEqual({ messages: 17, overlays: 1, jobs: 1, blocks: 0, entries: 0, attachments: 1 });
    expect(erased.kept.usage_events).toBe(2);
    const done = await complete(session);
    expect([done.id, done.erased_at, done.stores.objects.left]).toEqual([erased.id, erased.erased_at, 0]);
    const again = await tenant.call<Erasure>("DELETE", `/v1/sessions/${session}`);
    expect([again.status, again.body]).toEqual([200, done]);
  });

  test("is gone from R2, every list, the search and every row of the catalog", async () => {
    await complete(session);
    expect(await plane.contentKeys(`${tenant.id}/${session}/`)).toEqual([]);
    for (const path of ["/v1/sessions", "/v1/sessions?exact=1", "/v1/sessions?external_id=first"])
      expect(await idsOf(path)).not.toContain(session);
    expect((await idsOf("/v1/compaction-jobs")).length).toBe(0);
    const found = await tenant.call<{ data: { session_id: string }[] }>("GET", `/v1/search?q=${SECRET}&limit=100`);
    expect(found.body.data.map((hit) => hit.session_id)).not.toContain(session);
    const rows = await plane.catalog<{ id: string }>("SELECT * FROM sessions WHERE id = ?", session);
    expect(JSON.stringify(rows)).not.toContain(SECRET);
    const jobs = await plane.catalog("SELECT 1 FROM compaction_jobs WHERE session_id = ?", session);
    expect(jobs).toEqual([]);
  });

  test("says 410 to every read but those of its usage and its receipt", async () => {
    const document = await plane.caller(null)<{ paths: Record<string, object> }>("GET", "/openapi.json");
    const paths = Object.entries(document.body.paths).filter(
      ([path, methods]) => path.startsWith("/v1/sessions/{session_id}") && "get" in methods,
    );
    expect(paths.length).toBeGreaterThan(20);
    const answers = await Promise.all(
      paths.map(async ([path]) => {
        const ids = { session_id: session, message_id: "m1", job_id: "job_01m8ngf3edfk7twrevw9bs49r8", label: "a", key: "k" };
        const filled = path.replace(
          /\{(\w+)\}/g,
          (_, name: string) => ids[name as keyof typeof ids] ?? "ovl_01m8ngf3edfk7twrevw9bs49r8",
        );
        const { status, body } = await tenant.call("GET", filled + (path.endsWith("/search") ? "?q=a" : ""));
        return [path.replace("/v1/sessions/{session_id}", ""), status, body["code"], body["erasure_id"]];
      }),
    );
    const open = answers.filter(([, status]) => status === 200).map(([path]) => String(path));
    expect(open.toSorted()).toEqual(["/cost", "/erasure", "/usage", "/usage/events", "/usage/explain"]);
    for (const [, status, code, id] of answers.filter((one) => one[1] !== 200))
      expect([status, code, id]).toEqual([410, "erased", erased.id]);
  });

  test.each([
    ["PATCH", "", { name: "back" }],
    ["POST", "/messages", { message: text("x", "user", "x") }],
    ["PUT", "/messages/m1", { message: { role: "user", parts: [{ type: "text", text: "x" }] } }],
    ["DELETE", "/messages", undefined],
    ["PUT", "/blocks/memory", { kind: "writable" }],
    ["POST", "/compactions", {}],
    ["POST", "/overflow", {}],
    ["POST", "/fork", { at_message_id: "m1" }],
    ["POST", "/split", { summary: "s" }],
    ["POST", "/end", {}],
  ])("says 410 to %s %s", async (method, path, body) => {
    const reply = await tenant.call(method, `/v1/sessions/${session}${path}`, body);
    expect([reply.status, reply.body["code"]]).toEqual([410, "erased"]);
  });

  test("keeps its place in the ledger, takes usage that comes late, and its sums hold", async () => {
    await complete(session);
    const late = { event: { id: "late", provider: "p", model: "m", usage: { input: 500_000 } } };
    expect((await tenant.call("POST", `/v1/sessions/${session}/usage`, late)).status).toBe(201);
    const report = () =>
      tenant.call<{ data: { keys: { session: string; purpose: string }; billed: { amount: string } }[] }>(
        "GET",
        `/v1/reports/cost?${YEAR}&group_by=session,purpose`,
      );
    await until("the report to have it", async () => {
      const { body } = await report();
      return body.data.some((cell) => JSON.stringify(cell).includes(session) && JSON.stringify(cell).includes("1.500000000"));
    });
    const day = (offset: number) => `${new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)}T00:00:00Z`;
    const range = { tenant_id: tenant.id, start: day(-1), end: day(2) };
    const verified = await plane.operator<{ rollups: object[]; sessions: object[] }>("POST", "/v1/ledger/verify", range);
    expect([verified.status, verified.body.rollups, verified.body.sessions]).toEqual([200, [], []]);
    const repaired = await plane.operator("POST", "/v1/operations/repair", { tenant_id: tenant.id, session_id: session });
    expect(repaired.status).toBe(202);
    expect((await complete(session)).id).toBe(erased.id);
  });

  test("is told to whoever repeats the request that made it, and its external id is free", async () => {
    await complete(session);
    const create = {
      name: `${SECRET} first`,
      external_id: "first",
      metadata: { secret: SECRET },
      tags: [SECRET],
      user_id: SECRET,
    };
    const again = await tenant.call("POST", "/v1/sessions", create, { "Idempotency-Key": "made-first" });
    expect([again.status, again.body["code"]]).toEqual([410, "erased"]);
    const next = await tenant.call<{ id: string }>("PUT", "/v1/sessions/by-external-id/first", {});
    expect(next.status).toBe(201);
    expect(next.body.id).not.toBe(session);
    const child = await tenant.call("POST", "/v1/sessions", { parent_session_id: session });
    expect([child.status, child.body["code"]]).toEqual([422, "invalid"]);
  });

  test("leaves its fork as it was", async () => {
    const { status, body } = await tenant.call<Page>("GET", `/v1/sessions/${fork}/messages`);
    expect([status, body.data.map(({ id }) => id)]).toEqual([200, ["m0", "m1", "m2"]]);
  });

  test("left a trace of who erased it", async () => {
    const [audit] = await plane.catalog<{ actor: string }>(
      "SELECT actor FROM audit_events WHERE action = 'session.erase' AND target = ?",
      session,
    );
    expect(audit?.actor).toMatch(/^key_/);
  });
});

test("the only session of a tenant leaves no word in the catalog", async () => {
  const other = await plane.tenant();
  const { body } = await other.call<{ id: string }>("POST", "/v1/sessions", { name: "zanzibar", tags: ["zanzibar"] });
  await other.call("POST", `/v1/sessions/${body.id}/messages`, { message: text("m", "user", "zanzibar") });
  expect(await catalogText()).toContain("zanzibar");
  await other.call("DELETE", `/v1/sessions/${body.id}`);
  await until("the catalog to have forgotten it", async () => !(await catalogText()).includes("zanzibar"));
  expect((await other.call<{ total: number }>("GET", "/v1/sessions")).body).toMatchObject({ data: [] });
});

test("a key that may not write as the server erases nothing, and another revision's is refused", async () => {
  const id = await plane.session(tenant);
  const { body } = await plane.operator<{ key: string }>("POST", `/v1/tenants/${tenant.id}/keys`, {
    name: "browser",
    scopes: ["sessions:read", "sessions:write"],
  });
  const browser: Call = plane.caller(body.key);
  expect((await browser("DELETE", `/v1/sessions/${id}`)).status).toBe(403);
  expect((await tenant.call("DELETE", `/v1/sessions/${id}`, undefined, { "If-Match": '"9"' })).status).toBe(412);
  expect((await tenant.call("GET", `/v1/sessions/${id}`)).status).toBe(200);
  expect((await tenant.call("GET", `/v1/sessions/${id}/erasure`)).status).toBe(404);
  expect((await tenant.call("DELETE", `/v1/sessions/${id}`, undefined, { "If-Match": '"1"' })).status).toBeLessThan(300);
});

test("a session whose object was never opened is erased too", async () => {
  const id = "ses_01m8ngf31nesgbjawm0yzz5x4h";
  const columns = (await plane.catalog<{ name: string }>("SELECT name FROM pragma_table_info('sessions')")).map(
    ({ name }) => name,
  );
  const copied = columns.map((name) => (name === "id" ? "?" : ["external_id", "blocks"].includes(name) ? "NULL" : name)).join();
  await plane.catalog(
    `INSERT INTO sessions SELECT ${copied} FROM sessions WHERE tenant_id = ? AND status = 'active' LIMIT 1`,
    id,
    tenant.id,
  );
  expect((await tenant.call<Erasure>("DELETE", `/v1/sessions/${id}`)).body.stores.session.removed["messages"]).toBe(0);
  expect((await complete(id)).status).toBe("complete");
});

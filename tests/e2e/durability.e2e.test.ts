import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text, until } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant({ compaction: { threshold: 600, keep_recent_tokens: 100 } });
  await plane.addPrices("p", "m", { input: "3", output: "9" });
  await plane.addPrices("builtin", "extractive", { input: "0", output: "0" });
});
afterAll(() => plane.close());

const line = (index: number) =>
  text(
    `m${index}`,
    index % 2 === 0 ? "user" : "assistant",
    `Item K${index}9 costs $${index}.10. ${"It was talked about for a while. ".repeat(4)}`,
  );
const ids = async (session: string): Promise<string[]> => {
  const { body } = await tenant.call<{ data: { id: string }[] }>("GET", `/v1/sessions/${session}/messages?limit=100&view=raw`);
  return body.data.map((message) => message.id);
};
const jobsOf = async (session: string) =>
  (
    await tenant.call<{ data: { id: string; state: string; attempts: number }[] }>(
      "GET",
      `/v1/sessions/${session}/compaction-jobs`,
    )
  ).body.data;
const rollups = () =>
  plane.catalog(
    "SELECT class, sum(events) AS events, sum(quantity) AS quantity, sum(list_nano) AS nano FROM usage_rollups WHERE tenant_id = ? GROUP BY class ORDER BY class",
    tenant.id,
  );
const counted = (session: string) =>
  plane.catalog<{ message_count: number; usage_events: number }>(
    "SELECT message_count, usage_events FROM sessions WHERE id = ?",
    session,
  );

describe("what is acknowledged", () => {
  test.each(["append:written", "append:armed"])("is there once when the object dies at %s", async (point) => {
    const session = await plane.session(tenant, { compaction: { automatic: false } });
    await tenant.call("POST", `/v1/sessions/${session}/messages`, { message: line(0) });
    await plane.armFault(tenant, session, point);
    const reply = await tenant.call("POST", `/v1/sessions/${session}/messages`, { messages: [line(1), line(2)] });
    expect([200, 201]).toContain(reply.status);
    expect(await ids(session)).toEqual(["m0", "m1", "m2"]);
  });

  test("reaches the catalog when the object dies after it has sent", async () => {
    const session = await plane.session(tenant);
    await plane.armFault(tenant, session, "drain:sent");
    await tenant.call("POST", `/v1/sessions/${session}/messages`, { message: line(0) });
    await until("the catalog to follow", async () => (await counted(session))[0]?.message_count === 1);
  });

  test("survives eviction: history, usage, settings and the number of messages", async () => {
    const session = await plane.session(tenant, { name: "kept", compaction: { automatic: false } });
    await tenant.call("POST", `/v1/sessions/${session}/messages`, { messages: [line(0), line(1)] });
    await tenant.call("POST", `/v1/sessions/${session}/usage`, {
      event: { id: "e1", provider: "p", model: "m", usage: { input: 100 } },
    });
    const before = (await tenant.call("GET", `/v1/sessions/${session}`)).body;
    await plane.evict(tenant, session);
    expect((await tenant.call("GET", `/v1/sessions/${session}`)).body).toEqual(before);
    await tenant.call("POST", `/v1/sessions/${session}/messages`, { message: line(2) });
    expect(await ids(session)).toEqual(["m0", "m1", "m2"]);
  });

  test("is one run of rows as long as it is one chain", async () => {
    const session = await plane.session(tenant);
    await tenant.call("POST", `/v1/sessions/${session}/messages`, { messages: [line(0), line(1)] });
    await tenant.call("POST", `/v1/sessions/${session}/messages`, { message: line(2) });
    const rows = await plane.objectRows<{ n: number }>(tenant, session, "SELECT count(*) AS n FROM runs");
    expect(rows).toEqual([{ n: 1 }]);
  });
});

describe("the projection", () => {
  test("counts every event once, whatever is sent again, in whatever order", async () => {
    const session = await plane.session(tenant, { compaction: { automatic: false } });
    const events = Array.from({ length: 40 }, (_, index) => ({
      id: `e${index}`,
      provider: "p",
      model: "m",
      usage: { input: 100 + index, output: index },
    }));
    for (let at = 0; at < events.length; at += 10) {
      await tenant.call("POST", `/v1/sessions/${session}/usage`, { events: events.slice(at, at + 10) });
    }
    await until("the catalog to follow", async () => (await counted(session))[0]?.usage_events === 40);
    const before = await rollups();

    const rows = await plane.objectRows<{ seq: number; recorded_at: number; event: string }>(
      tenant,
      session,
      "SELECT seq, recorded_at, event FROM usage_events ORDER BY seq DESC",
    );
    for (const row of rows.slice(0, 20)) {
      const fact = { kind: "usage", seq: row.seq, recorded_at: row.recorded_at, event: JSON.parse(row.event) };
      await plane.sendFacts({
        v: 1,
        tenant_id: tenant.id,
        session_id: session,
        after_seq: row.seq - 1,
        to_seq: row.seq,
        facts: [fact, fact],
      });
    }
    const repair = await plane.operator("POST", "/v1/operations/repair", { tenant_id: tenant.id, session_id: session });
    expect(repair.status).toBe(202);
    const mark = async () =>
      (await plane.objectRows<{ projected_seq: number }>(tenant, session, "SELECT projected_seq FROM session"))[0]
        ?.projected_seq ?? 0;
    await until("everything to be confirmed again", async () => (await mark()) >= (rows[0]?.seq ?? 0));
    expect(await rollups()).toEqual(before);
  });

  test("rebuilds a session's rows from its object", async () => {
    const session = await plane.session(tenant, { compaction: { automatic: false } });
    await tenant.call("POST", `/v1/sessions/${session}/usage`, {
      event: { id: "e", provider: "p", model: "m", usage: { input: 7 } },
    });
    await until(
      "the event in the catalog",
      async () => (await plane.catalog("SELECT 1 FROM usage_events WHERE session_id = ?", session)).length === 1,
    );
    await plane.catalog("DELETE FROM usage_events WHERE session_id = ?", session);
    await plane.catalog("DELETE FROM usage_rollups WHERE session_id = ?", session);
    await plane.operator("POST", "/v1/operations/repair", { tenant_id: tenant.id, session_id: session });
    await until(
      "the rows to be back",
      async () => (await plane.catalog("SELECT 1 FROM usage_rollups WHERE session_id = ?", session)).length === 1,
    );
  });

  test("ignores a message that is none of its own", async () => {
    await plane.sendFacts({ hello: "world" });
    const session = await plane.session(tenant);
    await tenant.call("POST", `/v1/sessions/${session}/messages`, { message: line(0) });
    await until("later facts to arrive", async () => (await counted(session))[0]?.message_count === 1);
  });
});

describe("a compaction", () => {
  test.each(["claim:written", "commit:before", "commit:written"])(
    "ends applied, once and billed once, when the object dies at %s",
    async (point) => {
      const session = await plane.session(tenant);
      await plane.armFault(tenant, session, point);
      await tenant.call("POST", `/v1/sessions/${session}/messages`, {
        messages: Array.from({ length: 20 }, (_, index) => line(index)),
      });
      // A claim whose reply was lost holds its lease: it is put back as if five minutes had passed.
      const release = async () => {
        await plane.objectRows(tenant, session, "UPDATE jobs SET lease_until = 1 WHERE state = 'running' RETURNING id");
        await plane.evict(tenant, session);
      };
      await until(
        "the job to be applied",
        async () => {
          const jobs = await jobsOf(session);
          if (jobs.some((job) => job.state === "running")) await release();
          return jobs.some((job) => job.state === "applied");
        },
        60_000,
      );
      const overlays = (await tenant.call<{ data: unknown[] }>("GET", `/v1/sessions/${session}/compactions`)).body.data;
      expect(overlays).toHaveLength(1);
      const usage = await tenant.call<{ data: object[] }>("GET", `/v1/sessions/${session}/usage/events`);
      expect(usage.body.data).toMatchObject([{ purpose: "compaction" }]);
      expect(await ids(session)).toHaveLength(20);
      const [count] = await plane.objectRows<{ n: number }>(
        tenant,
        session,
        "SELECT count(*) AS n FROM jobs WHERE state IN ('queued', 'running')",
      );
      expect(count?.n).toBe(0);
    },
  );
});

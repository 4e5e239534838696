import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text, until } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant({ compaction: { threshold: 1_000, keep_recent_tokens: 200 } });
  await plane.addPrices("openai", "gpt-4o", { input: "2.5", output: "10" });
  await plane.addPrices("builtin", "extractive", { input: "0", output: "0" });
});
afterAll(() => plane.close());

type Job = { id: string; state: string; overlay_id: string; from_id: string; to_id: string };
type History = {
  data: { id: string }[];
  meta: { parent_id: string | null }[];
  has_more: boolean;
  next_cursor: string | null;
  leaf_id: string;
};

const history = async (session: string, query = "?limit=100"): Promise<History> =>
  (await tenant.call<History>("GET", `/v1/sessions/${session}/messages${query}`)).body;

describe("the main job", () => {
  test("keeps a message once, whatever how often it is sent", async () => {
    const session = await plane.session(tenant);
    const path = `/v1/sessions/${session}/messages`;
    const message = text("m1", "user", "hi");

    const first = await tenant.call<{ results: { inserted: boolean }[] }>("POST", path, { message });
    const second = await tenant.call<{ results: { inserted: boolean }[] }>("POST", path, {
      message: text("m1", "user", "other"),
    });

    expect([first.status, first.body.results[0]?.inserted]).toEqual([201, true]);
    expect([second.status, second.body.results[0]?.inserted]).toEqual([200, false]);
    expect(second.body.results[0]).toMatchObject({ message });
    expect((await history(session)).data).toEqual([message]);
  });

  test("prices usage at once and reports the same cost", async () => {
    const session = await plane.session(tenant, { user_id: "u1" });
    const event = { id: "r1", model: "gpt-4o", provider: "openai", usage: { inputTokens: 1_000, outputTokens: 100 } };

    const created = await tenant.call<{ results: object[] }>("POST", `/v1/sessions/${session}/usage`, { event });
    const again = await tenant.call<{ results: object[] }>("POST", `/v1/sessions/${session}/usage`, { event });
    const other = await tenant.call("POST", `/v1/sessions/${session}/usage`, { event: { ...event, usage: { inputTokens: 1 } } });

    const cost = { amount: "0.003500000", currency: "USD" };
    expect(created.status).toBe(201);
    expect(created.body.results[0]).toMatchObject({ id: "r1", status: "created", cost });
    expect([again.status, again.body.results[0]]).toEqual([200, expect.objectContaining({ status: "duplicate", cost })]);
    expect([other.status, other.body["code"]]).toEqual([409, "usage_conflict"]);

    const end = new Date(Date.now() + 60_000).toISOString();
    const path = `/v1/reports/cost?start=2026-01-01T00:00:00Z&end=${end}&bucket=month&group_by=session&session_id=${session}`;
    const row = await until(
      "the report to show the cost",
      async () => (await tenant.call<{ data: object[] }>("GET", path)).body.data[0],
    );
    expect(row).toMatchObject({ session_id: session, events: 1, cost, unpriced_events: 0 });
  });

  test("leaves a model without a price unpriced, never free", async () => {
    const session = await plane.session(tenant);
    const event = { model: "acme/unknown", usage: { input_tokens: 10, output_tokens: 5 } };
    const { body } = await tenant.call<{ results: object[] }>("POST", `/v1/sessions/${session}/usage`, { event });
    expect(body.results[0]).toMatchObject({ cost: null, list_cost: null });
    const { body: read } = await tenant.call<{ usage: object }>("GET", `/v1/sessions/${session}/usage`);
    expect(read.usage).toMatchObject({ events: 1, unpriced_events: 1, cost: { amount: "0.000000000" } });
  });

  test("compacts a long session in the background and keeps the originals", async () => {
    const session = await plane.session(tenant);
    const messages = Array.from({ length: 24 }, (_, index) =>
      text(
        `m${index}`,
        index % 2 === 0 ? "user" : "assistant",
        `Order A${index}7 costs $${index}.25. ${"We went through the details of it once more. ".repeat(5)}`,
      ),
    );
    await tenant.call("POST", `/v1/sessions/${session}/messages`, { messages });

    const job = await until("the job to be applied", async () => {
      const { body } = await tenant.call<{ data: Job[] }>("GET", `/v1/sessions/${session}/compaction-jobs`);
      return body.data.find((one) => one.state === "applied");
    });

    const shown = (await history(session)).data.map((message) => message.id);
    expect(shown).toContain(`compaction_${job.overlay_id}`);
    expect(shown.slice(0, 3)).toEqual(["m0", "m1", "m2"]);
    expect(shown).not.toContain(job.from_id);
    expect(shown.at(-1)).toBe("m23");
    expect((await history(session, "?limit=100&view=raw")).data).toEqual(messages);
    const listed = await until("the job in the catalog", async () => {
      const { body } = await plane.operator<{ data: Job[] }>("GET", `/v1/compaction-jobs?tenant_id=${tenant.id}&status=applied`);
      return body.data.find((one) => one.id === job.id);
    });
    expect(listed).toMatchObject({ overlay_id: job.overlay_id });
  });

  test("keeps branches apart and follows the newest message", async () => {
    const session = await plane.session(tenant);
    const path = `/v1/sessions/${session}/messages`;
    await tenant.call("POST", path, { messages: [text("u1", "user", "q"), text("a1", "assistant", "one")] });
    await tenant.call("POST", path, { message: text("a2", "assistant", "two"), parent_id: "u1" });

    expect((await history(session)).data.map((message) => message.id)).toEqual(["u1", "a2"]);
    const first = await history(session, "?leaf_id=a1");
    expect(first.data.map((message) => message.id)).toEqual(["u1", "a1"]);
    expect(first.meta.map((meta) => meta.parent_id)).toEqual([null, "u1"]);
    expect((await tenant.call("GET", `${path}?leaf_id=nope`)).status).toBe(404);
  });

  test("pages through a history in both orders and streams it whole", async () => {
    const session = await plane.session(tenant, { compaction: { automatic: false } });
    const messages = Array.from({ length: 230 }, (_, index) => text(`p${index}`, "user", `line ${index}`));
    await tenant.call("POST", `/v1/sessions/${session}/messages`, { messages });

    for (const order of ["asc", "desc"]) {
      const seen: string[] = [];
      for (let cursor: string | null = ""; cursor !== null;) {
        const page: History = await history(session, `?limit=100&order=${order}${cursor === "" ? "" : `&cursor=${cursor}`}`);
        seen.push(...page.data.map((message) => message.id));
        cursor = page.next_cursor;
      }
      const ids = messages.map((message) => message.id);
      expect(seen).toEqual(order === "asc" ? ids : ids.toReversed());
    }
    const { body } = await tenant.call<string>("GET", `/v1/sessions/${session}/messages`, undefined, {
      Accept: "application/x-ndjson",
    });
    expect(
      body
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(messages);
  });

  test("returns the longest recent window that fits, the newest message always in it", async () => {
    const session = await plane.session(tenant);
    await tenant.call("POST", `/v1/sessions/${session}/messages`, {
      messages: [text("w1", "user", "x".repeat(900)), text("w2", "user", "y"), text("w3", "user", "z")],
    });
    const window = await history(session, "?max_bytes=200");
    expect(window).toMatchObject({ truncated: true, data: [{ id: "w2" }, { id: "w3" }] });
    expect((await history(session, "?max_bytes=1")).data).toMatchObject([{ id: "w3" }]);
  });

  test("carries a message of several megabytes unchanged", async () => {
    const session = await plane.session(tenant, { compaction: { automatic: false } });
    const message = text("big", "user", "🙂é咖".repeat(400_000));
    expect((await tenant.call("POST", `/v1/sessions/${session}/messages`, { message })).status).toBe(201);
    expect((await history(session)).data).toEqual([message]);
  });

  test("changes a session only at the revision that If-Match names", async () => {
    const session = await plane.session(tenant, { name: "first", metadata: { a: "1", b: "2" } });
    const path = `/v1/sessions/${session}`;
    const patched = await tenant.call("PATCH", path, { name: "second", metadata: { a: null, c: "3" } }, { "If-Match": '"1"' });
    expect([patched.status, patched.body["revision"], patched.body["metadata"]]).toEqual([200, 2, { b: "2", c: "3" }]);
    const stale = await tenant.call("PATCH", path, { name: "third" }, { "If-Match": '"1"' });
    expect([stale.status, stale.body["code"]]).toEqual([412, "precondition_failed"]);
    const filtered = await until("the list to follow", async () => {
      const { body } = await tenant.call<{ data: { id: string }[] }>("GET", "/v1/sessions?metadata[c]=3&q=SECOND");
      return body.data.some((one) => one.id === session) && body.data;
    });
    expect(filtered.map((one) => one.id)).toEqual([session]);
  });

  test("takes no message after its end, and keeps what it has", async () => {
    const session = await plane.session(tenant);
    await tenant.call("POST", `/v1/sessions/${session}/messages`, { message: text("m", "user", "hi") });
    expect((await tenant.call("POST", `/v1/sessions/${session}/end`, { reason: "done" })).body).toMatchObject({
      status: "ended",
      end_reason: "done",
    });
    const refused = await tenant.call("POST", `/v1/sessions/${session}/messages`, { message: text("n", "user", "hi") });
    expect([refused.status, refused.body["code"]]).toEqual([409, "session_ended"]);
    expect((await history(session)).data).toHaveLength(1);
  });

  test("returns the session and tenant of an external id instead of a second one", async () => {
    const put = () => tenant.call<{ id: string }>("PUT", "/v1/sessions/by-external-id/chat-9", { name: "n" });
    const [first, second] = [await put(), await put()];
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.body.id).toBe(first.body.id);
    const both = await Promise.all(
      [1, 2, 3].map(() => plane.operator<{ id: string }>("PUT", "/v1/tenants/by-external-id/ext-1", { name: "n" })),
    );
    expect(new Set(both.map((reply) => reply.body.id)).size).toBe(1);
  });
});

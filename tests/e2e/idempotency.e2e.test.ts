import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant();
});
afterAll(() => plane.close());

const keyed = (key: string) => ({ "Idempotency-Key": key });

describe("Idempotency-Key", () => {
  test("makes one session of two equal requests, and says which reply is a repetition", async () => {
    const first = await tenant.call("POST", "/v1/sessions", { name: "a" }, keyed("k1"));
    const second = await tenant.call("POST", "/v1/sessions", { name: "a" }, keyed("k1"));
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body["id"]).toBe(first.body["id"]);
    expect([first.headers.get("Idempotent-Replayed"), second.headers.get("Idempotent-Replayed")]).toEqual([null, "true"]);
  });

  test("refuses the key for another body", async () => {
    await tenant.call("POST", "/v1/sessions", { name: "a" }, keyed("k2"));
    const other = await tenant.call("POST", "/v1/sessions", { name: "b" }, keyed("k2"));
    expect([other.status, other.body["code"]]).toEqual([422, "idempotency_mismatch"]);
  });

  test("makes one tenant of many equal requests at once", async () => {
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => plane.operator("POST", "/v1/tenants", { name: "t" }, keyed("k3"))),
    );
    const made = replies.filter((reply) => reply.status === 201);
    expect(new Set(made.map((reply) => reply.body["id"])).size).toBe(1);
    expect(replies.every((reply) => reply.status === 201 || reply.body["code"] === "idempotency_in_progress")).toBe(true);
  });

  test("gives a repeated append the ids that it made", async () => {
    const session = await plane.session(tenant);
    const body = { messages: [{ role: "user", parts: [{ type: "text", text: "no id of mine" }] }] };
    const send = () =>
      tenant.call<{ results: { id: string; inserted: boolean }[] }>(
        "POST",
        `/v1/sessions/${session}/messages`,
        body,
        keyed("k4"),
      );
    const [first, second] = [await send(), await send()];
    expect(second.status).toBe(201);
    expect(second.body.results).toEqual(first.body.results);
    const { body: read } = await tenant.call<{ message_count: number }>("GET", `/v1/sessions/${session}`);
    expect(read.message_count).toBe(1);
  });

  test("counts repeated usage without an id once", async () => {
    const session = await plane.session(tenant);
    const body = { event: { provider: "p", model: "m", usage: { input: 5 } } };
    const send = () => tenant.call<{ results: { id: string }[] }>("POST", `/v1/sessions/${session}/usage`, body, keyed("k5"));
    const [first, second] = [await send(), await send()];
    expect(second.body.results[0]?.id).toBe(first.body.results[0]?.id);
    const { body: read } = await tenant.call<{ usage: { events: number } }>("GET", `/v1/sessions/${session}/usage`);
    expect(read.usage.events).toBe(1);
  });

  test("never replays a secret", async () => {
    const make = () =>
      plane.operator(`POST`, `/v1/tenants/${tenant.id}/keys`, { name: "s", scopes: ["sessions:read"] }, keyed("k6"));
    const [first, second] = [await make(), await make()];
    expect([second.status, second.body["code"], second.body["key_id"]]).toEqual([409, "secret_not_replayable", first.body["id"]]);
    expect(JSON.stringify(second.body)).not.toContain(String(first.body["key"]));
  });

  test("does not keep a refusal", async () => {
    const session = await plane.session(tenant);
    const path = `/v1/sessions/${session}/messages`;
    const body = { message: text("c", "user", "x"), parent_id: "p" };
    expect((await tenant.call("POST", path, body, keyed("k7"))).status).toBe(422);
    await tenant.call("POST", path, { message: text("p", "user", "x") });
    expect((await tenant.call("POST", path, body, keyed("k7"))).status).toBe(201);
  });

  test("refuses a key that is none", async () => {
    const reply = await tenant.call("POST", "/v1/sessions", {}, keyed("with space"));
    expect([reply.status, reply.body["code"]]).toEqual([422, "invalid"]);
  });
});

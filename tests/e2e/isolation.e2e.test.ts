import { afterAll, describe, expect, test } from "vitest";
import { startPlane, text, until } from "../support/harness.ts";
import { type Owned, type Prepared, describeTenantIsolation, routesOf } from "../support/tenant-isolation.ts";

const plane = await startPlane();
afterAll(() => plane.close());

const tenant = await plane.tenant({ compaction: { threshold: 400, keep_recent_tokens: 50 } });
const other = await plane.tenant();
/** A key of the owner that has none of the scopes asked for. */
const narrow = await plane.operator<{ key: string }>("POST", `/v1/tenants/${tenant.id}/keys`, { name: "narrow", scopes: ["sessions:write-as-server"] });
const keys = await plane.operator<{ data: { id: string }[] }>("GET", `/v1/tenants/${tenant.id}/keys`);
const session = await plane.session(tenant, { external_id: "taken", name: "secret plans" });
const messages = Array.from({ length: 16 }, (_, index) => text(`m${index}`, "user", `The secret word is xylophone, said ${index} times. `.repeat(3)));
const appended = await tenant.call<{ compaction_job_id: string }>("POST", `/v1/sessions/${session}/messages`, { messages });
await tenant.call("POST", `/v1/sessions/${session}/usage`, { event: { id: "e", provider: "p", model: "m", usage: { input: 1 } } });

const owned: Owned = { tenant, session, message: "m0", job: appended.body.compaction_job_id, keyId: keys.body.data[0]?.id ?? "" };

const S = "/v1/sessions/{session_id}";
const RANGE = "?start=2026-01-01T00:00:00Z&end=2027-01-01T00:00:00Z";
const PREPARED: Record<string, Prepared> = {
  "GET /v1/health": { kind: "public" },
  "GET /v1/ready": { kind: "public" },
  "GET /v1/me": { kind: "any" },
  "POST /v1/tenants": { kind: "operator", body: { name: "x" } },
  "GET /v1/tenants": { kind: "operator" },
  "PUT /v1/tenants/by-external-id/{external_id}": { kind: "operator", body: { name: "x" } },
  "GET /v1/tenants/{tenant_id}": { kind: "operator" },
  "PATCH /v1/tenants/{tenant_id}": { kind: "operator", body: {} },
  "POST /v1/tenants/{tenant_id}/keys": { kind: "operator", body: { name: "k", scopes: ["sessions:read"] } },
  "GET /v1/tenants/{tenant_id}/keys": { kind: "operator" },
  "DELETE /v1/tenants/{tenant_id}/keys/{key_id}": { kind: "operator" },
  "POST /v1/operator-keys": { kind: "operator", body: { name: "k", scopes: ["tenants:read"] } },
  "GET /v1/operator-keys": { kind: "operator" },
  "DELETE /v1/operator-keys/{key_id}": { kind: "operator" },
  "POST /v1/sessions": { kind: "tenant", body: {} },
  "GET /v1/sessions": { kind: "tenant" },
  "PUT /v1/sessions/by-external-id/{external_id}": { kind: "tenant", body: {} },
  [`GET ${S}`]: { kind: "tenant" },
  [`PATCH ${S}`]: { kind: "tenant", body: { name: "taken over" } },
  [`POST ${S}/end`]: { kind: "tenant" },
  [`POST ${S}/messages`]: { kind: "tenant", body: { message: text("intruder", "user", "hi") } },
  [`GET ${S}/messages`]: { kind: "tenant" },
  [`GET ${S}/messages/{message_id}`]: { kind: "tenant" },
  [`POST ${S}/usage`]: { kind: "tenant", body: { event: { provider: "p", model: "m", usage: { input: 1 } } } },
  [`GET ${S}/usage`]: { kind: "tenant" },
  [`GET ${S}/usage/events`]: { kind: "tenant" },
  [`POST ${S}/compactions`]: { kind: "tenant", body: {} },
  [`GET ${S}/compactions`]: { kind: "tenant" },
  [`GET ${S}/compaction-jobs`]: { kind: "tenant" },
  [`GET ${S}/compaction-jobs/{job_id}`]: { kind: "tenant" },
  [`POST ${S}/compaction-jobs/{job_id}/cancel`]: { kind: "tenant" },
  "GET /v1/compaction-jobs": { kind: "either" },
  "GET /v1/prices": { kind: "operator" },
  "POST /v1/prices": { kind: "operator", body: { provider: "p", model: "m", class: "input", usd_per_million: "1", effective_from: "2026-01-01T00:00:00Z" } },
  "POST /v1/prices/import": { kind: "operator", body: "", headers: { "Content-Type": "application/x-ndjson" } },
  "GET /v1/prices/resolve": { kind: "either", query: "?provider=p&model=m" },
  "GET /v1/reports/usage": { kind: "either", query: RANGE },
  "GET /v1/reports/cost": { kind: "either", query: RANGE },
  "POST /v1/operations/repair": { kind: "operator", body: { tenant_id: tenant.id, session_id: session } },
};

const reader = { id: tenant.id, key: narrow.body.key, call: plane.caller(narrow.body.key) };
describeTenantIsolation(await routesOf(plane), PREPARED, () => ({ plane, owned, other, reader }));

describe("across tenants", () => {
  test("no list or report of one shows anything of the other", async () => {
    await until("the owner's own list", async () => (await tenant.call<{ data: { message_count: number }[] }>("GET", "/v1/sessions")).body.data.some((one) => one.message_count === 16));
    for (const path of ["/v1/sessions", "/v1/sessions?q=secret", "/v1/sessions?external_id=taken", `/v1/reports/cost${RANGE}&group_by=session`, "/v1/compaction-jobs"]) {
      const { body } = await other.call<{ data: unknown[] }>("GET", path);
      expect(body.data).toEqual([]);
    }
  });

  test("a tenant that names another in a filter gets the words for nothing", async () => {
    const reply = await other.call("GET", `/v1/reports/cost${RANGE}&tenant_id=${tenant.id}`);
    expect([reply.status, reply.body["code"]]).toEqual([404, "not_found"]);
  });

  test("the owner's session is as it was", async () => {
    const { body } = await tenant.call("GET", `/v1/sessions/${session}`);
    expect(body).toMatchObject({ name: "secret plans", status: "active", message_count: 16, revision: 1 });
  });

  test("an operator with content:read reads for one tenant, and leaves a trace", async () => {
    const read = await plane.operator("GET", `/v1/sessions/${session}`, undefined, { "Sessionplane-Tenant": tenant.id });
    expect(read.status).toBe(200);
    const write = await plane.operator("PATCH", `/v1/sessions/${session}`, { name: "x" }, { "Sessionplane-Tenant": tenant.id });
    expect([write.status, write.body["code"]]).toEqual([403, "wrong_key_kind"]);
    const trace = await plane.catalog<{ target: string }>("SELECT target FROM audit_events WHERE action = 'content.read' AND tenant_id = ?", tenant.id);
    expect(trace).toEqual([{ target: `/v1/sessions/${session}` }]);
  });
});

import { afterAll, describe, expect, test } from "vitest";
import { OPERATOR_SCOPES, TENANT_SCOPES } from "@sessionplane/shared/api-key";
import { type Call, type Tenant, startPlane, text, until } from "../support/harness.ts";
import {
  type Cast,
  type Kind,
  type Owned,
  type Prepared,
  describeTenantIsolation,
  routesOf,
} from "../support/tenant-isolation.ts";

const plane = await startPlane();
afterAll(() => plane.close());

const POLICY = { compaction: { threshold: 400, keep_recent_tokens: 50 } };
const MESSAGES = 16;
type Created = { id: string; key: string };

const keyOf = async (path: string, scopes: readonly string[]): Promise<Created> =>
  (await plane.operator<Created>("POST", path, { name: "k", scopes })).body;

/** A tenant's session with messages, usage and a job, a skill, and a key that may be revoked. `name` keeps ids apart. */
async function furnish(tenant: Tenant, name: string): Promise<Owned> {
  const session = await plane.session(tenant, { external_id: `of-${name}`, name: `secret plans of ${name}` });
  const messages: object[] = Array.from({ length: MESSAGES - 1 }, (_, index) =>
    text(`${name}-${index}`, "user", `The secret word is xylophone, said ${index} times. `.repeat(3)),
  );
  const url = `data:image/png;base64,${btoa(`a picture of ${name}`)}`;
  messages.push({ id: `${name}-picture`, role: "user", parts: [{ type: "file", mediaType: "image/png", url }] });
  const { body } = await tenant.call<{ compaction_job_id: string }>("POST", `/v1/sessions/${session}/messages`, { messages });
  const picture = (
    await tenant.call<{ message: { parts: { url: string }[] } }>("GET", `/v1/sessions/${session}/messages/${name}-picture`)
  ).body;
  const attachment = /att_\w+/.exec(picture.message.parts[0]?.url ?? "")?.[0] ?? "";
  await tenant.call("POST", `/v1/sessions/${session}/usage`, {
    event: { id: `use-${name}`, provider: "p", model: "m", usage: { input: 1 } },
  });
  await tenant.call("PUT", `/v1/skills/of-${name}`, `The secret skill of ${name}.`, { "Content-Type": "text/markdown" });
  for (const label of ["memory", "scratch"])
    await tenant.call("PUT", `/v1/sessions/${session}/blocks/${label}`, { kind: "writable" });
  const notes = `/v1/sessions/${session}/blocks/notes-of-${name}`;
  await tenant.call("PUT", notes, { kind: "search", description: `The secret notes of ${name}` });
  await tenant.call("PUT", `${notes}/entries/of-${name}`, { content: `The secret note of ${name}` });
  const range = { summary: `The secret summary of ${name}`, from_id: `${name}-0`, to_id: `${name}-1` };
  const overlay = (await tenant.call<{ id: string }>("POST", `/v1/sessions/${session}/compactions`, range)).body;
  const { id: keyId } = await keyOf(`/v1/tenants/${tenant.id}/keys`, ["sessions:read"]);
  const ids = {
    tenant_id: tenant.id,
    session_id: session,
    message_id: `${name}-0`,
    job_id: body.compaction_job_id,
    attachment_id: attachment,
    overlay_id: overlay.id,
    event_id: `use-${name}`,
    label: `notes-of-${name}`,
    name: "set_context",
    key: `of-${name}`,
  };
  return { ...ids, key_id: keyId, external_id: `of-${name}` };
}

const [owner, other, resident] = [await plane.tenant(POLICY), await plane.tenant(POLICY), await plane.tenant(POLICY)];
const [owned, others, residents] = [
  await furnish(owner, "owner"),
  await furnish(other, "other"),
  await furnish(resident, "resident"),
];
const operatorKeyId = (await keyOf("/v1/operator-keys", ["tenants:read"])).id;

async function makeRevoked(): Promise<Call> {
  const { id, key } = await keyOf(`/v1/tenants/${owner.id}/keys`, TENANT_SCOPES);
  await plane.operator("DELETE", `/v1/tenants/${owner.id}/keys/${id}`);
  return plane.caller(key);
}

async function keyWithout(kind: Kind, scope: string): Promise<Call> {
  const [path, all] =
    kind === "tenant" ? [`/v1/tenants/${owner.id}/keys`, TENANT_SCOPES] : (["/v1/operator-keys", OPERATOR_SCOPES] as const);
  const scopes = all.filter((one) => one !== scope);
  expect(scopes).toHaveLength(all.length - 1);
  return plane.caller((await keyOf(path, scopes)).key);
}

const cast: Cast = { plane, owner, owned, other, others, resident, residents, revoked: await makeRevoked(), keyWithout };

const doomed = await plane.session(resident);
const erased = await plane.session(resident);
await resident.call("DELETE", `/v1/sessions/${erased}`);

const S = "/v1/sessions/{session_id}";
const WEEK = { start: "2026-01-01T00:00:00Z", end: "2026-01-08T00:00:00Z" };
const RANGE = "?start=2026-01-01T00:00:00Z&end=2027-01-01T00:00:00Z";
const PRICE = { provider: "p", model: "m", class: "input", usd_per_million: "1", effective_from: "2026-01-01T00:00:00Z" };
const PREPARED: Record<string, Prepared> = {
  "GET /v1/health": { open: true },
  "GET /v1/ready": { open: true },
  "GET /v1/me": {},
  "POST /v1/tenants": { body: { name: "x" } },
  "GET /v1/tenants": {},
  "PUT /v1/tenants/by-external-id/{external_id}": { body: { name: "x" } },
  "GET /v1/tenants/{tenant_id}": {},
  "PATCH /v1/tenants/{tenant_id}": { body: {} },
  "POST /v1/tenants/{tenant_id}/keys": { body: { name: "k", scopes: ["sessions:read"] } },
  "GET /v1/tenants/{tenant_id}/keys": {},
  "DELETE /v1/tenants/{tenant_id}/keys/{key_id}": {},
  "POST /v1/operator-keys": { body: { name: "k", scopes: ["tenants:read"] } },
  "GET /v1/operator-keys": {},
  "DELETE /v1/operator-keys/{key_id}": { values: { key_id: operatorKeyId } },
  "POST /v1/sessions": { body: {} },
  "GET /v1/sessions": {},
  "PUT /v1/sessions/by-external-id/{external_id}": { body: {} },
  [`GET ${S}`]: {},
  [`PATCH ${S}`]: { body: { name: "taken over" } },
  [`POST ${S}/end`]: {},
  [`DELETE ${S}`]: { values: { session_id: doomed } },
  [`GET ${S}/erasure`]: { values: { session_id: erased } },
  [`POST ${S}/messages`]: { body: { message: text("intruder", "user", "hi") } },
  [`GET ${S}/messages`]: {},
  [`GET ${S}/messages/{message_id}`]: {},
  [`PUT ${S}/messages/{message_id}`]: {
    body: { message: { role: "user", parts: [{ type: "text", text: "taken over" }] } },
    headers: { "If-Match": "*" },
    unknown: { message_id: [412, "precondition_failed"] },
  },
  [`PATCH ${S}/messages/{message_id}`]: { body: { toolCallId: "call", output: "taken over" } },
  [`DELETE ${S}/messages/{message_id}`]: {},
  [`POST ${S}/messages/delete`]: { body: { ids: ["owner-0", "other-0"] } },
  [`DELETE ${S}/messages`]: {},
  [`GET ${S}/messages/{message_id}/branches`]: {},
  [`GET ${S}/roots`]: {},
  [`GET ${S}/leaves`]: {},
  [`PUT ${S}/leaf`]: { body: { leaf_id: "owner-0" } },
  [`GET ${S}/stats`]: {},
  [`GET ${S}/events`]: {},
  [`GET ${S}/export`]: {},
  [`POST ${S}/fork`]: { body: { at_message_id: "resident-0" } },
  [`POST ${S}/split`]: { body: { summary: "taken over" } },
  "POST /v1/sessions/import": {
    body: JSON.stringify({ kind: "message", parent_id: null, message: text("imported", "user", "hi") }),
    headers: { "Content-Type": "application/x-ndjson" },
  },
  [`GET ${S}/search`]: { query: "?q=xylophone" },
  [`GET ${S}/blocks`]: {},
  [`GET ${S}/blocks/{label}`]: {},
  [`PUT ${S}/blocks/{label}`]: {
    body: { kind: "search", description: "taken over" },
    headers: { "If-Match": "*" },
    unknown: { label: [412, "precondition_failed"] },
  },
  [`PATCH ${S}/blocks/{label}`]: { body: { description: "taken over" } },
  [`POST ${S}/blocks/{label}/append`]: { body: { content: "taken over" }, values: { label: "memory" } },
  [`DELETE ${S}/blocks/{label}`]: { values: { label: "scratch" } },
  [`GET ${S}/blocks/{label}/entries`]: {},
  [`GET ${S}/blocks/{label}/entries/{key}`]: {},
  [`PUT ${S}/blocks/{label}/entries/{key}`]: {
    body: { content: "taken over" },
    headers: { "If-Match": "*" },
    unknown: { key: [412, "precondition_failed"] },
  },
  [`DELETE ${S}/blocks/{label}/entries/{key}`]: {},
  [`GET ${S}/prompt`]: {},
  [`POST ${S}/prompt/refresh`]: {},
  [`GET ${S}/tools`]: {},
  [`POST ${S}/tools/{name}`]: { body: { arguments: { label: "memory", content: "taken over" } } },
  [`GET ${S}/skills`]: {},
  [`POST ${S}/usage`]: { body: { event: { provider: "p", model: "m", usage: { input: 1 } } } },
  [`GET ${S}/usage`]: {},
  [`GET ${S}/usage/events`]: {},
  [`GET ${S}/usage/explain`]: {},
  [`GET ${S}/cost`]: {},
  [`POST ${S}/compactions`]: { body: {} },
  [`GET ${S}/compactions`]: {},
  [`GET ${S}/compactions/{overlay_id}`]: {},
  [`POST ${S}/compactions/{overlay_id}/rerun`]: { body: {} },
  [`DELETE ${S}/compactions/{overlay_id}`]: {},
  [`POST ${S}/overflow`]: { body: { deadline_ms: 1_000 } },
  [`POST ${S}/compaction-jobs/{job_id}/retry`]: {},
  [`GET ${S}/compaction-jobs`]: {},
  [`GET ${S}/compaction-jobs/{job_id}`]: {},
  [`POST ${S}/compaction-jobs/{job_id}/cancel`]: {},
  "GET /v1/attachments/{attachment_id}": { query: "?session_id={session_id}" },
  "GET /v1/attachments/{attachment_id}/meta": { query: "?session_id={session_id}" },
  "GET /v1/skills": {},
  "GET /v1/skills/{key}": {},
  "GET /v1/skills/{key}/versions": {},
  "PUT /v1/skills/{key}": {
    body: "Taken over.",
    headers: { "Content-Type": "text/markdown", "If-Match": "*" },
    unknown: { key: [412, "precondition_failed"] },
  },
  "DELETE /v1/skills/{key}": {},
  "GET /v1/search": { query: "?q=xylophone" },
  "GET /v1/compaction-jobs": {},
  "POST /v1/compaction-jobs/redrive": { body: { status: "failed" } },
  "POST /v1/compaction-jobs/{job_id}/retry": { plane: true },
  "POST /v1/compaction-jobs/{job_id}/cancel": { plane: true },
  "GET /v1/usage-events": {},
  "GET /v1/usage-events/{event_id}": { query: "?session_id={session_id}&tenant_id={tenant_id}" },
  "GET /v1/usage-events/{event_id}/explain": { query: "?session_id={session_id}&tenant_id={tenant_id}" },
  "POST /v1/usage-events/{event_id}/adjustments": {
    plane: true,
    body: { tenant_id: resident.id, session_id: residents["session_id"], reason: "a test" },
  },
  "POST /v1/re-rates": { body: { start: "2026-01-01T00:00:00Z", end: "2026-01-02T00:00:00Z", dry_run: true } },
  "GET /v1/prices": {},
  "GET /v1/prices/unpriced": {},
  "POST /v1/prices": { body: PRICE },
  "POST /v1/prices/import": { body: JSON.stringify(PRICE), headers: { "Content-Type": "application/x-ndjson" } },
  "POST /v1/price-aliases": { body: { provider: "p", model: "alias", target_model: "m" } },
  "GET /v1/price-aliases": {},
  "GET /v1/prices/resolve": { query: "?provider=p&model=m" },
  "GET /v1/reports/usage": { query: RANGE },
  "GET /v1/reports/cost": { query: RANGE },
  "GET /v1/reports/explain": { query: RANGE },
  "POST /v1/ledger/verify": { body: { tenant_id: resident.id, ...WEEK } },
  "POST /v1/ledger/archive": { body: { tenant_id: resident.id } },
  "GET /v1/ledger/archives": {},
  "POST /v1/ledger/rebuild": { body: { tenant_id: resident.id, ...WEEK } },
  "POST /v1/operations/repair": { body: { tenant_id: resident.id, session_id: residents["session_id"] } },
};

const snapshot = async () => {
  const entries = `/blocks/${owned["label"]}/entries`;
  const reads = ["", "/usage", "/messages?view=raw&limit=100", "/blocks", entries].map((path) =>
    owner.call("GET", `/v1/sessions/${owned["session_id"]}${path}`),
  );
  const skill = owner.call("GET", `/v1/skills/${owned["key"]}`);
  const [session, usage, messages, blocks, notes] = await Promise.all(reads);
  const context = [blocks?.body["data"], notes?.body["data"]];
  return { session: session?.body, usage: usage?.body["usage"], messages: messages?.body, context, skill: (await skill).body };
};
await until("the owner's job to end", async () => {
  const { body } = await owner.call<{ compaction: { open_job_id: string | null } }>("GET", `/v1/sessions/${owned["session_id"]}`);
  return body.compaction.open_job_id === null;
});
const before = await snapshot();

describeTenantIsolation(await routesOf(plane), PREPARED, cast);

describe("across tenants", () => {
  test("no list or report of one shows anything of the other", async () => {
    const stranger = await plane.tenant();
    await until("the owner's own list", async () => {
      const { body } = await owner.call<{ data: { message_count: number }[] }>("GET", "/v1/sessions");
      return body.data.some((one) => one.message_count === MESSAGES);
    });
    const session = owned["session_id"];
    const lists = [
      "/v1/sessions",
      "/v1/sessions?q=secret",
      "/v1/sessions?external_id=of-owner",
      `/v1/sessions?parent_session_id=${session}`,
      `/v1/reports/cost${RANGE}&group_by=session`,
      `/v1/reports/usage${RANGE}&session_id=${session}`,
      "/v1/compaction-jobs",
      "/v1/skills",
      "/v1/search?q=xylophone",
      `/v1/search?q=xylophone&session_id=${session}`,
    ];
    for (const path of lists) expect((await stranger.call("GET", path)).body["data"]).toEqual([]);
  });

  test.each(["/v1/compaction-jobs?", "/v1/prices/resolve?provider=p&model=m&", `/v1/reports/usage${RANGE}&`])(
    "a tenant that names another in a filter of %s gets the words for nothing",
    async (path) => {
      const theirs = await other.call("GET", `${path}tenant_id=${owner.id}`);
      expect([theirs.status, theirs.body["code"]]).toEqual([404, "not_found"]);
      const nothing = await other.call("GET", `${path}tenant_id=ten_01m8ngf2z2esgbjasbkqkwx8bx`);
      expect(nothing.body["detail"]).toBe(theirs.body["detail"]);
    },
  );

  test("another tenant's session is no parent, in the words for one that never was", async () => {
    const create = async (parent: string | undefined) =>
      (await other.call("POST", "/v1/sessions", { parent_session_id: parent })).body;
    const theirs = await create(owned["session_id"]);
    const nothing = await create("ses_01m8ngf31nesgbjawm0yzz5x4h");
    expect([theirs["code"], theirs["detail"], theirs["errors"]]).toEqual(["invalid", nothing["detail"], nothing["errors"]]);
  });

  test("another tenant's message is no parent and no leaf", async () => {
    const path = `/v1/sessions/${others["session_id"]}`;
    const appended = await other.call("POST", `${path}/messages`, { message: text("x", "user", "x"), parent_id: "owner-0" });
    expect([appended.status, appended.body["code"]]).toEqual([422, "unknown_parent"]);
    expect((await other.call("GET", `${path}/messages?leaf_id=owner-0`)).status).toBe(404);
    const compaction = await other.call("POST", `${path}/compactions`, { leaf_id: "owner-0" });
    expect([compaction.status, compaction.body["code"]]).toEqual([422, "unknown_leaf"]);
  });

  test("another tenant's attachment is no part of a message, and not read under its session's name", async () => {
    const link = `/v1/attachments/${owned["attachment_id"]}?session_id=${owned["session_id"]}`;
    const read = await other.call("GET", link);
    expect([read.status, read.body["code"]]).toEqual([404, "not_found"]);
    const message = { role: "user", parts: [{ type: "file", mediaType: "image/png", url: link }] };
    const written = await other.call("POST", `/v1/sessions/${others["session_id"]}/messages`, { message });
    expect([written.status, written.body["code"]]).toEqual([422, "unknown_attachment"]);
  });

  test("an external id is a tenant's own", async () => {
    const { status, body } = await other.call("PUT", "/v1/sessions/by-external-id/of-owner", {});
    expect(status).toBe(201);
    expect(body["id"]).not.toBe(owned["session_id"]);
  });

  test("nothing of the owner has changed", async () => {
    expect(await snapshot()).toEqual(before);
  });

  test("an operator with content:read reads for one tenant, and leaves a trace", async () => {
    const path = `/v1/sessions/${owned["session_id"]}`;
    const as = { "Sessionplane-Tenant": owner.id };
    expect((await plane.operator("GET", path, undefined, as)).status).toBe(200);
    const write = await plane.operator("PATCH", path, { name: "x" }, as);
    expect([write.status, write.body["code"]]).toEqual([403, "wrong_key_kind"]);
    const blind = await (await keyWithout("operator", "content:read"))("GET", path, undefined, as);
    expect([blind.status, blind.body["required_scope"]]).toEqual([403, "content:read"]);
    expect((await plane.operator("GET", path, undefined, { "Sessionplane-Tenant": other.id })).status).toBe(404);
    const trace = await plane.catalog(
      "SELECT target FROM audit_events WHERE action = 'content.read' AND tenant_id = ?",
      owner.id,
    );
    expect(trace).toEqual([{ target: path }]);
  });
});

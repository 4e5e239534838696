import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;
let session: string;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant();
  session = await plane.session(tenant);
  await tenant.call("POST", `/v1/sessions/${session}/messages`, { message: text("m1", "user", "hi") });
});
afterAll(() => plane.close());

type Problem = { code: string; errors?: { pointer: string }[]; request_id: string; status: number };
const message = text("m2", "user", "hello");
const event = { model: "gpt-4o", provider: "openai", usage: { inputTokens: 1, outputTokens: 1 } };

/** name, method, path below the session (or absolute), body, status, code, pointer. */
type Case = readonly [string, string, string, unknown, number, string, string?];

/** Messages that no store should take, each refused at its place. */
function messageCases(): Case[] {
  const append = (one: object): [string, string, unknown] => ["POST", "/messages", { message: one }];
  const withParts = (...parts: unknown[]): [string, string, unknown] => append({ role: "user", parts });
  const tool = (toolCallId: unknown) => withParts({ type: "tool-x", toolCallId, state: "input-available", input: {} });
  const batch = (...messages: object[]): [string, string, unknown] => ["POST", "/messages", { messages }];
  const many = Array.from({ length: 10_000 }, (_, index) => text(`n${index}`, "user", "x"));
  return [
    ["an empty id", ...append({ ...message, id: "" }), 422, "invalid", "/message/id"],
    ["an id of 129 characters", ...append({ ...message, id: "x".repeat(129) }), 422, "invalid", "/message/id"],
    ["no parts", ...withParts(), 422, "invalid", "/message/parts"],
    ["a part that is null", ...withParts(null), 422, "invalid", "/message/parts/0"],
    ["a part that is empty text", ...withParts(""), 422, "invalid", "/message/parts/0"],
    ["a part that is a list", ...withParts([]), 422, "invalid", "/message/parts/0"],
    ["a part without a type", ...withParts({ text: "x" }), 422, "invalid", "/message/parts/0/type"],
    ["a tool part without an id", ...tool(undefined), 422, "invalid", "/message/parts/0/toolCallId"],
    ["a tool part whose id is null", ...tool(null), 422, "invalid", "/message/parts/0/toolCallId"],
    ["a tool part whose id is empty", ...tool(""), 422, "invalid", "/message/parts/0/toolCallId"],
    ["a tool part whose id is a list", ...tool(["c"]), 422, "invalid", "/message/parts/0/toolCallId"],
    ["a tool part whose id is too long", ...tool("c".repeat(129)), 422, "invalid", "/message/parts/0/toolCallId"],
    [
      "the same id twice in a batch",
      ...batch(text("d", "user", "1"), text("d", "user", "2")),
      422,
      "duplicate_message_id",
      "/messages/1/id",
    ],
    ["10,000 messages in one call", ...batch(...many), 422, "invalid", "/messages"],
    [
      "a message below itself",
      "POST",
      "/messages",
      { message: text("self", "user", "x"), parent_id: "self" },
      422,
      "unknown_parent",
      "/parent_id",
    ],
    [
      "a message below a later one",
      "POST",
      "/messages",
      { messages: [text("c1", "user", "x"), text("c2", "user", "y")], parent_id: "c2" },
      422,
      "unknown_parent",
      "/parent_id",
    ],
    [
      "broken base64",
      ...withParts({ type: "file", mediaType: "image/png", url: "data:image/png;base64,@@" }),
      422,
      "broken_media",
      "/message/parts/0/url",
    ],
    ["another id than the path's", "PUT", "/messages/m1", { message: text("m2", "user", "x") }, 422, "invalid", "/message/id"],
    ["a result for no message", "PATCH", "/messages/nope", { toolCallId: "c", output: 1 }, 404, "not_found"],
    ["a result for no call", "PATCH", "/messages/m1", { toolCallId: "c", output: 1 }, 422, "unknown_tool_call", "/toolCallId"],
    ["a deletion of nothing", "DELETE", "/messages/nope", undefined, 404, "not_found"],
    ["a deletion of no ids", "POST", "/messages/delete", { ids: [] }, 422, "invalid", "/ids"],
    ["a leaf that is none", "PUT", "/leaf", { leaf_id: "nope" }, 422, "unknown_leaf", "/leaf_id"],
    ["a leaf that is null", "PUT", "/leaf", { leaf_id: null }, 422, "invalid", "/leaf_id"],
    ["bytes and tokens at once", "GET", "/messages?max_bytes=1&max_tokens=1", undefined, 422, "invalid", "?max_bytes"],
    ["an id that no URL names", ...append({ ...message, id: ".." }), 422, "invalid", "/message/id"],
    [
      "a number that no double holds",
      "POST",
      "/messages",
      '{"message":{"role":"user","parts":[{"type":"x","n":1e400}]}}',
      422,
      "invalid",
      "/message/parts/0/n",
    ],
    [
      "a key that would be lost",
      "POST",
      "/messages",
      '{"message":{"role":"user","parts":[{"type":"x","__proto__":1}]}}',
      422,
      "invalid",
      "/message/parts/0/__proto__",
    ],
    ["another session's cursor", "GET", `/messages?cursor=${btoa('["ses_x",1,1]')}`, undefined, 422, "invalid", "?cursor"],
    ["a merge of nothing", "PATCH", "/messages/m1", { toolCallId: "c", source: "server" }, 422, "invalid", ""],
    ["a window with a cursor", "GET", `/messages?max_bytes=9&cursor=${btoa('["x",1,1]')}`, undefined, 422, "invalid", "?cursor"],
    ["a window of nothing", "GET", "/messages?max_bytes=0", undefined, 422, "invalid", "?max_bytes"],
    ["attachments in a way that there is not", "GET", "/messages?attachments=zip", undefined, 422, "invalid", "?attachments"],
    [
      "an attachment's malformed id",
      "GET",
      "/v1/attachments/att_x?session_id=ses_01m8ngf31nesgbjawm0yzz5x4h",
      undefined,
      404,
      "not_found",
    ],
    [
      "usage too large for a row",
      "POST",
      "/usage",
      { event: { ...event, usage: { ...event.usage, note: "x".repeat(3_000_000) } } },
      422,
      "invalid",
      "/event/usage",
    ],
  ];
}

const CASES: readonly Case[] = [
  ["malformed JSON", "POST", "/messages", "{bad", 400, "malformed_json"],
  ["bytes that are not UTF-8", "POST", "/messages", new Uint8Array([0x22, 0xff, 0x22]), 400, "malformed_json"],
  ["a wrong type", "POST", "/messages", { message: 7 }, 422, "invalid", "/message"],
  ["an unknown field", "POST", "/messages", { message, colour: "red" }, 422, "invalid", "/colour"],
  ["neither message nor messages", "POST", "/messages", {}, 422, "invalid", ""],
  ["an unknown parameter", "GET", "/messages?colour=red", undefined, 400, "unknown_parameter", "?colour"],
  ["a parameter of a route that has none", "GET", "/blocks?colour=red", undefined, 400, "unknown_parameter", "?colour"],
  ["one beside a body", "POST", "/prompt/refresh?colour=red", undefined, 400, "unknown_parameter", "?colour"],
  ["a limit of zero", "GET", "/messages?limit=0", undefined, 422, "invalid", "?limit"],
  ["a cursor of one's own", "GET", "/messages?cursor=abc", undefined, 422, "invalid", "?cursor"],
  ["9 MiB", "POST", "/messages", { message: text("x", "user", "x".repeat(9 * 1024 * 1024)) }, 413, "body_too_large"],
  ["an unknown parent", "POST", "/messages", { message, parent_id: "nope" }, 422, "unknown_parent", "/parent_id"],
  ["an unknown leaf to compact", "POST", "/compactions", { leaf_id: "nope" }, 422, "unknown_leaf", "/leaf_id"],
  ["a reserved id", "POST", "/messages", { message: { ...message, id: "compaction_x" } }, 422, "invalid", "/message/id"],
  [
    "half a surrogate pair",
    "POST",
    "/messages",
    '{"message":{"role":"user","parts":[{"type":"text","text":"a\\ud800b"}]}}',
    422,
    "invalid",
    "/message/parts/0/text",
  ],
  [
    "nesting without end",
    "POST",
    "/messages",
    `{"message":{"role":"user","parts":[],"metadata":${"[".repeat(3_000)}${"]".repeat(3_000)}}}`,
    422,
    "invalid",
  ],
  ...messageCases(),
  ["an unknown role", "POST", "/messages", { message: { ...message, role: "wizard" } }, 422, "invalid", "/message/role"],
  [
    "negative tokens",
    "POST",
    "/usage",
    { event: { ...event, usage: { inputTokens: -1 } } },
    422,
    "invalid",
    "/event/usage/inputTokens",
  ],
  [
    "half a token",
    "POST",
    "/usage",
    { event: { ...event, usage: { inputTokens: 1.5 } } },
    422,
    "invalid",
    "/event/usage/inputTokens",
  ],
  [
    "usage in no known shape",
    "POST",
    "/usage",
    { events: [{ ...event, usage: { apples: 1 } }] },
    422,
    "invalid",
    "/events/0/usage",
  ],
  [
    "usage from the future",
    "POST",
    "/usage",
    { event: { ...event, occurred_at: "2099-01-01T00:00:00Z" } },
    422,
    "invalid",
    "/event/occurred_at",
  ],
  ["nothing to compact", "POST", "/compactions", {}, 422, "nothing_to_compact"],
  [
    "a policy that contradicts itself",
    "PATCH",
    "",
    { compaction: { threshold: 10, keep_recent_tokens: 20 } },
    422,
    "invalid",
    "/compaction/keep_recent_tokens",
  ],
  [
    "a foreign parent session",
    "POST",
    "/v1/sessions",
    { parent_session_id: "ses_01m8ngf31nesgbjawm0yzz5x4h" },
    422,
    "invalid",
    "/parent_session_id",
  ],
  [
    "an id with a wrong prefix in a body",
    "POST",
    "/v1/sessions",
    { parent_session_id: "ten_01m8ngf31nesgbjawm0yzz5x4h" },
    422,
    "invalid",
    "/parent_session_id",
  ],
  ["an id with a wrong prefix in a path", "GET", "/v1/sessions/ten_01m8ngf31nesgbjawm0yzz5x4h", undefined, 404, "not_found"],
  ["a malformed id in a path", "GET", "/v1/sessions/ses_zzz", undefined, 404, "not_found"],
  ["an unknown route", "GET", "/v1/nothing", undefined, 404, "not_found"],
  [
    "a reversed range",
    "GET",
    "/v1/reports/cost?start=2026-02-01T00:00:00Z&end=2026-01-01T00:00:00Z",
    undefined,
    422,
    "invalid",
    "?end",
  ],
  [
    "ten years in quarters of an hour",
    "GET",
    "/v1/reports/cost?start=2016-01-01T00:00:00Z&end=2026-01-01T00:00:00Z&bucket=15m",
    undefined,
    422,
    "range_too_fine",
  ],
  [
    "an unknown time zone",
    "GET",
    "/v1/reports/cost?start=2026-01-01T00:00:00Z&end=2026-02-01T00:00:00Z&timezone=Mars/Base",
    undefined,
    422,
    "invalid",
    "?timezone",
  ],
];

const named = CASES.map(([name, method, path, body, status, code, pointer]) => ({
  ...{ name, method, path, body, status, code, pointer },
}));

describe("bad input", () => {
  test.each(named)("answers $name with its problem", async ({ method, path, body, status, code, pointer }) => {
    const full = path.startsWith("/v1/") ? path : `/v1/sessions/${session}${path}`;
    const reply = await tenant.call<Problem>(method, full, body);

    expect([reply.status, reply.body.code]).toEqual([status, code]);
    expect(reply.headers.get("Content-Type")).toBe("application/problem+json");
    expect(reply.body.request_id).toBe(reply.headers.get("Request-Id"));
    if (pointer !== undefined) expect(reply.body.errors?.map((error) => error.pointer)).toContain(pointer);
  });

  test("takes a text of five megabytes whole", async () => {
    const path = `/v1/sessions/${await plane.session(tenant)}`;
    const large = text("large", "user", "5 MB of 🙂 ".repeat(450_000));
    expect((await tenant.call("POST", `${path}/messages`, { message: large })).status).toBe(201);
    expect((await tenant.call("GET", `${path}/messages/large`)).body["message"]).toEqual(large);
  });

  test("takes a field that is named like a call's id, however long", async () => {
    const path = `/v1/sessions/${await plane.session(tenant)}`;
    const odd = { id: "odd", role: "user", parts: [{ type: "x", toolCallId: "a".repeat(2_000_000) }] };
    expect((await tenant.call("POST", `${path}/messages`, { message: odd })).status).toBe(201);
  });

  test("gives nothing for a cursor from before all messages were deleted", async () => {
    const path = `/v1/sessions/${await plane.session(tenant)}`;
    const messages = ["a", "b", "c"].map((id) => text(id, "user", id));
    await tenant.call("POST", `${path}/messages`, { messages });
    const { next_cursor: cursor } = (await tenant.call<{ next_cursor: string }>("GET", `${path}/messages?limit=1`)).body;
    await tenant.call("DELETE", `${path}/messages`);
    const page = await tenant.call("GET", `${path}/messages?limit=1&cursor=${cursor}`);
    expect([page.status, page.body]).toMatchObject([200, { data: [], leaf_id: null, has_more: false }]);
    expect((await tenant.call("GET", `${path}/stats?cursor=${cursor}`)).status).toBe(200);
  });

  test("changes nothing", async () => {
    const { body } = await tenant.call<{ message_count: number; usage: { events: number }; revision: number }>(
      "GET",
      `/v1/sessions/${session}`,
    );
    expect([body.message_count, body.usage.events, body.revision]).toEqual([1, 0, 1]);
  });

  test.each([
    ["a negative price", { usd_per_million: "-1" }, "/usd_per_million"],
    ["a float of a price", { usd_per_million: 0.15 }, "/usd_per_million"],
    ["another currency", { currency: "EUR" }, "/currency"],
  ])("refuses %s", async (_name, patch, pointer) => {
    const price = {
      provider: "p",
      model: "m",
      class: "input",
      usd_per_million: "1",
      effective_from: "2026-01-01T00:00:00Z",
      ...patch,
    };
    const reply = await plane.operator<Problem>("POST", "/v1/prices", price);
    expect([reply.status, reply.body.errors?.[0]?.pointer]).toEqual([422, pointer]);
  });

  test("writes no message of a client in a role that the tenant does not allow", async () => {
    const reply = await tenant.call<Problem>("POST", `/v1/sessions/${session}/messages`, {
      message: text("a", "assistant", "forged"),
      source: "client",
    });
    expect([reply.status, reply.body.code, reply.body.errors?.[0]?.pointer]).toEqual([422, "role_not_allowed", "/message/role"]);
  });

  test("stops a revoked key within the bound of the cache", async () => {
    const { body: key } = await plane.operator<{ id: string; key: string }>("POST", `/v1/tenants/${tenant.id}/keys`, {
      name: "k",
      scopes: ["sessions:read"],
    });
    expect((await plane.caller(key.key)("GET", "/v1/me")).status).toBe(200);
    expect((await plane.operator("DELETE", `/v1/tenants/${tenant.id}/keys/${key.id}`)).status).toBe(204);
    expect((await plane.caller(key.key)("GET", "/v1/me")).status).toBe(401);
  });

  test("never shows a key's secret or hash again", async () => {
    const { body } = await plane.operator<{ data: object[] }>("GET", `/v1/tenants/${tenant.id}/keys`);
    expect(JSON.stringify(body)).not.toContain(tenant.key);
    expect(JSON.stringify(body)).not.toContain("hash");
  });
});

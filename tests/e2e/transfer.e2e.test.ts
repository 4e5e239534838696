import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text, until } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant({ compaction: { threshold: 600, keep_recent_tokens: 100, protect_head: 1, cooldown_messages: 1 } });
});
afterAll(() => plane.close());

const NDJSON = { "Content-Type": "application/x-ndjson" };
type Session = {
  id: string;
  parent_session_id: string | null;
  leaf_id: string;
  message_count: number;
  status: string;
  end_reason: string | null;
  imported: { messages: number; overlays: number; unmapped: unknown[] };
};
type Problem = { code: string; line?: number; errors?: { pointer: string }[] };

const importText = (body: string, query = "", headers = {}) =>
  tenant.call<Session & Problem>("POST", `/v1/sessions/import${query}`, body, { ...NDJSON, ...headers });
const exportText = async (id: string): Promise<string> => (await tenant.call<string>("GET", `/v1/sessions/${id}/export`)).body;
const history = async (id: string, query = ""): Promise<{ id: string; parts: { text: string }[] }[]> =>
  (
    await tenant.call<{ data: { id: string; parts: { text: string }[] }[] }>(
      "GET",
      `/v1/sessions/${id}/messages?limit=100${query}`,
    )
  ).body.data;
const lines = (...values: object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join("");
const line = (id: string, parent: string | null, rest: object = {}) => ({
  kind: "message",
  parent_id: parent,
  message: text(id, "user", id),
  ...rest,
});

/** Branches, edits, deletions, pictures in both stores, a summary. */
async function furnished(): Promise<string> {
  const id = await plane.session(tenant, { name: "original", metadata: { team: "a" }, tags: ["x"], user_id: "u" });
  const path = `/v1/sessions/${id}`;
  const picture = (bytes: Buffer, type: string) => ({
    type: "file",
    mediaType: type,
    url: `data:${type};base64,${bytes.toString("base64")}`,
  });
  const messages = Array.from({ length: 14 }, (_, index) => ({
    ...text(
      `m${index}`,
      index % 2 === 0 ? "user" : "assistant",
      `Item K${index}9 costs $${index}.10. ${"It was talked about for a while. ".repeat(4)}`,
    ),
    metadata: { index },
  }));
  await tenant.call("POST", `${path}/messages`, { messages });
  await until("the summary", async () =>
    (await tenant.call<{ data: unknown[] }>("GET", `${path}/compactions`)).body.data.length > 0 ? true : null,
  );
  await tenant.call("POST", `${path}/messages`, {
    message: { id: "b1", role: "user", parts: [picture(Buffer.from("small"), "image/png"), { type: "text", text: "ünï 🙂" }] },
    parent_id: "m12",
  });
  await tenant.call("POST", `${path}/messages`, {
    message: { id: "b2", role: "assistant", parts: [picture(randomBytes(300_000), "application/pdf")] },
  });
  await tenant.call("POST", `${path}/messages`, { message: text("r2", "user", "another root"), parent_id: null });
  await tenant.call("DELETE", `${path}/messages/m13`);
  await tenant.call("PUT", `${path}/messages/b1`, {
    message: { id: "b1", role: "user", parts: [picture(Buffer.from("small"), "image/webp"), { type: "text", text: "edited" }] },
  });
  await tenant.call("PUT", `${path}/leaf`, { leaf_id: "b2" });
  await tenant.call("POST", `${path}/usage`, { event: { provider: "p", model: "m", usage: { input: 7 } } });
  return id;
}

describe("export and import", () => {
  test("give the same bytes, in any order of lines, whatever is in the session", async () => {
    const id = await furnished();
    const exported = await exportText(id);
    const copy = await importText(exported);
    expect(copy.status).toBe(201);
    expect(copy.body).toMatchObject({
      leaf_id: "b2",
      message_count: 16,
      imported: { messages: 16, overlays: 1, unmapped: [] },
      usage: { events: 0 },
    });
    expect(await exportText(copy.body.id)).toBe(exported);
    const shuffled = exported.trimEnd().split("\n").toReversed();
    const again = await importText(`${shuffled.join("\n")}\n`);
    expect(await exportText(again.body.id)).toBe(exported);
    for (const leaf of ["b2", "m12", "r2"]) {
      const query = `&leaf_id=${leaf}&attachments=inline`;
      expect(await history(again.body.id, query)).toEqual(await history(id, query));
    }
    await plane.evict(tenant, again.body.id);
    expect(await exportText(again.body.id)).toBe(exported);
  });

  test("bring a list that knows of the copy", async () => {
    const { body } = await importText(
      lines(
        {
          kind: "session",
          format: "sessionplane/1",
          session: { name: "listed", user_id: null, model: null, source: null, metadata: {}, tags: [], compaction: {} },
          leaf_id: null,
          created_at: "2026-01-01T00:00:00.000Z",
        },
        line("a", null),
      ),
    );
    await until("the copy in the list", async () => {
      const { data } = (await tenant.call<{ data: { id: string; message_count: number }[] }>("GET", "/v1/sessions?q=listed"))
        .body;
      return data.some((one) => one.id === body.id && one.message_count === 1);
    });
  });

  test("take children before their parents, a thousand deep, without positions", async () => {
    const chain = Array.from({ length: 1_000 }, (_, index) =>
      line(`c${index}`, index === 0 ? null : `c${index - 1}`),
    ).toReversed();
    const { status, body } = await importText(lines(...chain));
    expect([status, body.message_count]).toEqual([201, 1_000]);
    const { data } = (
      await tenant.call<{ data: { id: string }[] }>("GET", `/v1/sessions/${body.id}/messages?leaf_id=c999&limit=3`)
    ).body;
    expect(data.map((one) => one.id)).toEqual(["c0", "c1", "c2"]);
  });

  const refusals: [string, string, string, number][] = [
    ["a circle", lines(line("a", "b"), line("b", "a")), "broken_tree", 1],
    ["a message below itself", lines(line("x", null), line("a", "a")), "broken_tree", 2],
    ["an unknown parent", lines(line("a", null), line("b", "nowhere")), "unknown_parent", 2],
    ["an id that comes twice", lines(line("a", null), line("a", null)), "duplicate_message_id", 2],
    [
      "an overlay without its ends",
      lines(line("a", null), {
        kind: "overlay",
        overlay: {
          id: "ovl_01m8ngf3edfk7twrevw9bs49r8",
          from_id: "a",
          to_id: "z",
          summary: "s",
          retention: null,
          model: null,
          stale: false,
          created_at: "2026-01-01T00:00:00.000Z",
        },
      }),
      "unknown_message",
      2,
    ],
    ["a line that is no JSON", `${lines(line("a", null))}{oops\n`, "import_refused", 2],
    ["a line of another kind", lines(line("a", null), { kind: "spoon" }), "import_refused", 2],
    ["a reserved id", lines(line("compaction_x", null)), "import_refused", 1],
  ];
  test.each(refusals)("refuse %s whole, by its line", async (_name, body, code, at) => {
    const fresh = await plane.tenant();
    const refused = await fresh.call<Problem>("POST", "/v1/sessions/import", body, NDJSON);
    expect([refused.status, refused.body.code, refused.body.line]).toEqual([422, code, at]);
    expect(await plane.catalog("SELECT id FROM sessions WHERE tenant_id = ?", fresh.id)).toEqual([]);
  });

  test("refuse a policy that contradicts the tenant's, as making a session does", async () => {
    const session = {
      name: null,
      user_id: null,
      model: null,
      source: null,
      metadata: {},
      tags: [],
      compaction: { keep_recent_tokens: 900 },
    };
    const header = { kind: "session", format: "sessionplane/1", session, leaf_id: null, created_at: "2026-01-01T00:00:00.000Z" };
    const refused = await importText(lines(header, line("a", null)));
    expect([refused.status, refused.body.errors?.[0]?.pointer]).toEqual([422, "/compaction/keep_recent_tokens"]);
  });

  test("under one key make one session", async () => {
    const body = lines(line("a", null));
    const [first, second] = [
      await importText(body, "", { "Idempotency-Key": "once" }),
      await importText(body, "", { "Idempotency-Key": "once" }),
    ];
    expect([second.body.id, second.headers.get("Idempotent-Replayed")]).toEqual([first.body.id, "true"]);
  });

  test("are not for a client's key, nor for JSON", async () => {
    const { body } = await plane.operator<{ key: string }>("POST", `/v1/tenants/${tenant.id}/keys`, {
      name: "c",
      scopes: ["sessions:write"],
    });
    const client = await plane.caller(body.key)("POST", "/v1/sessions/import", lines(line("a", null)), NDJSON);
    expect([client.status, client.body["required_scope"]]).toEqual([403, "sessions:write-as-server"]);
    expect((await tenant.call("POST", "/v1/sessions/import", {})).status).toBe(415);
  });
});

describe("transcripts", () => {
  test("of OpenAI become a session, with a report of what has no place", async () => {
    const transcript = lines(
      { role: "system", content: "be brief" },
      {
        role: "user",
        content: [
          { type: "text", text: "weather?" },
          { type: "input_audio", input_audio: {} },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c1", content: "rain" },
    );
    const { status, body } = await importText(transcript, "?format=openai");
    expect([status, body.imported]).toEqual([
      201,
      { messages: 3, overlays: 0, unmapped: [{ line: 2, what: "a block of type input_audio" }] },
    ]);
    expect((await history(body.id)).at(-1)?.parts).toMatchObject([
      { type: "dynamic-tool", state: "output-available", output: "rain" },
    ]);
  });

  test("of another format are refused by their line", async () => {
    const refused = await importText(lines({ role: "user", content: "hi" }, { wizard: true }), "?format=anthropic");
    expect([refused.status, refused.body.code, refused.body.line]).toEqual([422, "import_refused", 2]);
  });
});

describe("a fork", () => {
  test("has the path to a message with the summaries on it, and a parent", async () => {
    const id = await furnished();
    const fork = await tenant.call<Session>("POST", `/v1/sessions/${id}/fork`, { at_message_id: "m12", name: "fork" });
    expect(fork.status).toBe(201);
    expect(fork.body).toMatchObject({
      parent_session_id: id,
      name: "fork",
      leaf_id: "m12",
      message_count: 13,
      usage: { events: 0 },
    });
    expect((await history(fork.body.id)).map((one) => one.parts)).toEqual(
      (await history(id, "&leaf_id=m12")).map((one) => one.parts),
    );
    expect(await history(fork.body.id, "&view=raw")).toEqual(await history(id, "&leaf_id=m12&view=raw"));
    await tenant.call("POST", `/v1/sessions/${fork.body.id}/messages`, { message: text("on", "user", "x") });
    expect((await tenant.call<Session>("GET", `/v1/sessions/${id}`)).body.message_count).toBe(16);
    const early = await tenant.call<Session>("POST", `/v1/sessions/${id}/fork`, { at_message_id: "m2" });
    expect((await history(early.body.id)).map((one) => one.id)).toEqual(["m0", "m1", "m2"]);
  });

  test("at a message that is not there is refused, and makes nothing", async () => {
    const id = await plane.session(tenant);
    const refused = await tenant.call<Problem>("POST", `/v1/sessions/${id}/fork`, { at_message_id: "nope" });
    expect([refused.status, refused.body.code, refused.body.errors?.[0]?.pointer]).toEqual([
      422,
      "unknown_message",
      "/at_message_id",
    ]);
  });

  test("under one key is one session", async () => {
    const id = await plane.session(tenant);
    await tenant.call("POST", `/v1/sessions/${id}/messages`, { message: text("a", "user", "x") });
    const fork = () =>
      tenant.call<Session>("POST", `/v1/sessions/${id}/fork`, { at_message_id: "a" }, { "Idempotency-Key": "f" });
    expect((await fork()).body.id).toBe((await fork()).body.id);
  });
});

test("a split ends the session and goes on in a new one from its summary", async () => {
  const id = await plane.session(tenant, { name: "long", model: "m", tags: ["t"] });
  await tenant.call("POST", `/v1/sessions/${id}/messages`, { message: text("a", "user", "x") });
  const split = await tenant.call<Session & { model: string; tags: string[] }>("POST", `/v1/sessions/${id}/split`, {
    summary: "They agreed on Friday.",
  });
  expect(split.status).toBe(201);
  expect(split.body).toMatchObject({ parent_session_id: id, name: "long", model: "m", tags: ["t"], message_count: 1 });
  expect((await history(split.body.id))[0]).toMatchObject({
    role: "assistant",
    parts: [{ text: "[Context from previous session]\n\nThey agreed on Friday." }],
  });
  expect((await tenant.call<Session>("GET", `/v1/sessions/${id}`)).body).toMatchObject({
    status: "ended",
    end_reason: "compaction",
  });
  expect((await tenant.call<Problem>("POST", `/v1/sessions/${id}/split`, { summary: "again" })).body.code).toBe("session_ended");
});

/** Context blocks, the prompt and tools over HTTP, as the application of a tenant uses them. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant();
});
afterAll(() => plane.close());

const MEMORY = { kind: "writable", description: "Learned facts", max_tokens: 1_100, content: "User likes coffee." };

type Problem = { code: string; detail: string; errors?: { pointer: string }[] };
type Answer = { output: string; is_error: boolean };

const newSession = async (body: object = {}): Promise<string> => `/v1/sessions/${await plane.session(tenant, body)}`;
const put = (path: string, label: string, block: object, headers?: Record<string, string>) =>
  tenant.call("PUT", `${path}/blocks/${label}`, block, headers);
const promptOf = async (path: string): Promise<string> =>
  (await tenant.call<{ prompt: string }>("GET", `${path}/prompt`)).body.prompt;
const run = async (path: string, name: string, args: unknown, headers?: Record<string, string>): Promise<Answer> => {
  const { status, body } = await tenant.call<Answer>("POST", `${path}/tools/${name}`, { arguments: args }, headers);
  expect(status).toBe(200);
  return body;
};
const refusal = ({ status, body }: { status: number; body: unknown }) => {
  const { code, errors } = body as Problem;
  return [status, code, errors?.[0]?.pointer];
};

describe("blocks", () => {
  test("a block is made, read, changed by revision, appended to and deleted", async () => {
    const path = await newSession();
    const made = await put(path, "memory", MEMORY);
    expect([made.status, made.headers.get("ETag")]).toEqual([201, '"1"']);
    expect(made.body).toMatchObject({ label: "memory", writable: true, is_skill: false, is_searchable: false, revision: 1 });
    const again = await put(path, "memory", { kind: "writable", description: "Learned facts", max_tokens: 1_100 });
    expect([again.status, again.body["content"], again.body["revision"]]).toEqual([200, "User likes coffee.", 1]);
    const patched = await tenant.call("PATCH", `${path}/blocks/memory`, { content: "User likes tea." }, { "If-Match": '"1"' });
    expect([patched.status, patched.body["revision"], patched.body["content"]]).toEqual([200, 2, "User likes tea."]);
    const late = await tenant.call("PATCH", `${path}/blocks/memory`, { content: "lost" }, { "If-Match": '"1"' });
    expect(refusal(late)).toEqual([412, "precondition_failed", undefined]);
    const appended = await tenant.call("POST", `${path}/blocks/memory/append`, { content: "User has a cat." });
    expect(appended.body["content"]).toBe("User likes tea.\nUser has a cat.");
    expect((await tenant.call<{ data: object[] }>("GET", `${path}/blocks`)).body.data).toHaveLength(1);
    expect((await tenant.call("DELETE", `${path}/blocks/memory`)).status).toBe(204);
    expect((await tenant.call("GET", `${path}/blocks/memory`)).status).toBe(404);
  });

  test("of two writers that know the same revision one is refused, and nothing of the other is lost", async () => {
    const path = await newSession();
    await put(path, "memory", MEMORY);
    const writes = await Promise.all(
      ["one", "two"].map((content) => tenant.call("PATCH", `${path}/blocks/memory`, { content }, { "If-Match": '"1"' })),
    );
    expect(writes.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412]);
    const appends = Array.from({ length: 10 }, (_, index) => `line ${index}`);
    await Promise.all(appends.map((content) => tenant.call("POST", `${path}/blocks/memory/append`, { content })));
    const { body } = await tenant.call<{ content: string }>("GET", `${path}/blocks/memory`);
    expect(body.content.split("\n").slice(1).toSorted()).toEqual(appends);
  });

  test("an append with a key is done once", async () => {
    const path = await newSession();
    await put(path, "memory", { kind: "writable" });
    const append = () => tenant.call("POST", `${path}/blocks/memory/append`, { content: "once" }, { "Idempotency-Key": "k" });
    await append();
    const again = await append();
    expect([again.body["content"], again.headers.get("Idempotent-Replayed")]).toEqual(["once", "true"]);
  });

  test("the limit is inclusive, and what is over it is refused with both numbers", async () => {
    const path = await newSession();
    const exact = await put(path, "memory", { kind: "writable", max_tokens: 4, content: "abcd".repeat(4) });
    expect(exact.body["tokens"]).toBe(4);
    const over = await tenant.call("PATCH", `${path}/blocks/memory`, { content: "abcd".repeat(5) });
    expect(refusal(over)).toEqual([422, "block_over_limit", "/content"]);
    expect((over.body as unknown as Problem).detail).toContain("5 > 4");
    const lowered = await tenant.call("PATCH", `${path}/blocks/memory`, { max_tokens: 3 });
    expect(refusal(lowered)).toEqual([422, "block_over_limit", "/max_tokens"]);
  });

  test("a session is made with its blocks", async () => {
    const soul = { label: "soul", kind: "readonly", description: "Identity", content: "You are a helpful assistant." };
    const path = await newSession({ blocks: [soul, { label: "memory", ...MEMORY }] });
    expect(await promptOf(path)).toContain("SOUL (Identity) [readonly]");
    expect(await promptOf(path)).toContain("User likes coffee.");
  });

  test.each([
    ["a label with a slash", "a%2Fb", MEMORY, [404]],
    ["a label of dots", "..%2F..", MEMORY, [404]],
    ["an unknown kind", "x", { kind: "magic" }, [422, "invalid", "/kind"]],
    ["a limit of zero", "x", { kind: "writable", max_tokens: 0 }, [422, "invalid", "/max_tokens"]],
    ["a text for a search block", "x", { kind: "search", content: "x" }, [422, "invalid", "/content"]],
    ["keys for a writable block", "x", { kind: "writable", keys: ["a"] }, [422, "invalid", "/keys"]],
    ["an owner for a readonly block", "x", { kind: "readonly", owner: "session" }, [422, "invalid", "/owner"]],
    ["a description of two lines", "x", { kind: "writable", description: "a\nb" }, [422, "invalid", "/description"]],
    ["an unknown field", "x", { kind: "writable", colour: "red" }, [422, "invalid", "/colour"]],
    ["a text beyond all limits", "x", { kind: "readonly", content: "x".repeat(1_048_577) }, [413, "context_full", undefined]],
  ])("%s is refused", async (_, label, block, expected) => {
    const path = await newSession();
    const reply = await put(path, label, block);
    expect(refusal(reply).slice(0, expected.length)).toEqual(expected);
  });

  test("a block keeps its kind, an ended session its blocks", async () => {
    const path = await newSession();
    await put(path, "memory", MEMORY);
    expect(refusal(await put(path, "memory", { kind: "search" }))).toEqual([409, "wrong_block_kind", undefined]);
    expect(refusal(await tenant.call("PATCH", `${path}/blocks/memory`, { keys: ["a"] }))).toEqual([422, "invalid", "/keys"]);
    expect(refusal(await tenant.call("GET", `${path}/blocks/memory/entries`))).toEqual([409, "wrong_block_kind", undefined]);
    await tenant.call("POST", `${path}/end`);
    expect(refusal(await put(path, "other", MEMORY))).toEqual([409, "session_ended", undefined]);
    expect(refusal(await tenant.call("POST", `${path}/blocks/memory/append`, { content: "x" }))).toEqual([
      409,
      "session_ended",
      undefined,
    ]);
  });

  test("a key that may not write as server can't write into the prompt", async () => {
    const path = await newSession();
    const scopes = ["sessions:read", "sessions:write"];
    const { body } = await plane.operator<{ key: string }>("POST", `/v1/tenants/${tenant.id}/keys`, { name: "client", scopes });
    const client = plane.caller(body.key);
    expect(refusal(await client("PUT", `${path}/blocks/memory`, MEMORY))).toEqual([403, "insufficient_scope", undefined]);
    const begun = { blocks: [{ label: "memory", ...MEMORY }] };
    for (const made of [client("POST", "/v1/sessions", begun), client("PUT", "/v1/sessions/by-external-id/client", begun)])
      expect(refusal(await made)).toEqual([403, "insufficient_scope", undefined]);
    const args = { arguments: { label: "memory", content: "x" } };
    expect(refusal(await client("POST", `${path}/tools/set_context`, args))).toEqual([403, "insufficient_scope", undefined]);
  });
});

describe("the prompt", () => {
  test("is rendered once and stays, whatever is written, until it is refreshed", async () => {
    const path = await newSession();
    await put(path, "memory", MEMORY);
    const first = await promptOf(path);
    expect(first).toContain("MEMORY (Learned facts) [0% — 5/1100 tokens] [writable]\n" + "═".repeat(46) + "\nUser likes coffee.");
    await tenant.call("POST", `${path}/blocks/memory/append`, { content: "User likes tea." });
    expect(await promptOf(path)).toBe(first);
    const refreshed = await tenant.call<{ prompt: string }>("POST", `${path}/prompt/refresh`);
    expect(refreshed.body.prompt).toContain("User likes tea.");
    expect(await promptOf(path)).toBe(refreshed.body.prompt);
  });

  test("has a reminder of what changed in blocks that ask for one, until it is refreshed", async () => {
    const path = await newSession();
    await put(path, "today", { kind: "readonly", content: "It is Monday.", when_changed: "remind" });
    await put(path, "memory", MEMORY);
    const reminder = async () => (await tenant.call<{ reminder: string | null }>("GET", `${path}/prompt`)).body.reminder;
    expect(await reminder()).toBeNull();
    await tenant.call("PATCH", `${path}/blocks/memory`, { content: "not reminded of" });
    expect(await reminder()).toBeNull();
    await tenant.call("PATCH", `${path}/blocks/today`, { content: "It is Tuesday." });
    expect(await reminder()).toContain("It is Tuesday.");
    expect(await promptOf(path)).toContain("It is Monday.");
    await tenant.call("POST", `${path}/prompt/refresh`);
    expect(await reminder()).toBeNull();
  });

  test("is empty without blocks, and that is kept too", async () => {
    const path = await newSession();
    expect(await promptOf(path)).toBe("");
    await put(path, "memory", MEMORY);
    expect(await promptOf(path)).toBe("");
  });

  test("counts towards the threshold of compaction", async () => {
    const policy = { threshold: 1_000, keep_recent_tokens: 50, protect_head: 1 };
    const path = await newSession({ compaction: policy });
    await put(path, "soul", { kind: "readonly", content: "abcd".repeat(900) });
    const messages = Array.from({ length: 10 }, (_, index) => text(`m${index}`, "user", "abcd".repeat(16)));
    const before = await tenant.call<{ compaction_job_id: string | null }>("POST", `${path}/messages`, { messages });
    expect(before.body.compaction_job_id).toBeNull();
    await promptOf(path);
    const after = await tenant.call<{ compaction_job_id: string | null }>("POST", `${path}/messages`, {
      message: text("last", "user", "one more"),
    });
    expect(after.body.compaction_job_id).toMatch(/^job_/);
  });
});

describe("tools", () => {
  test("set_context names the writable blocks, writes and says what is left", async () => {
    const path = await newSession();
    await put(path, "memory", MEMORY);
    await put(path, "soul", { kind: "readonly", content: "You are kind." });
    type Tools = { data: { name: string; description: string; input_schema: { properties: { label?: { enum: string[] } } } }[] };
    const { body } = await tenant.call<Tools>("GET", `${path}/tools`);
    expect(body.data.map(({ name }) => name)).toEqual(["set_context", "session_search"]);
    expect(body.data[0]?.input_schema.properties.label?.enum).toEqual(["memory"]);
    const args = { label: "memory", content: "User has a dog.", action: "append" };
    expect(await run(path, "set_context", args)).toEqual({
      output: "Written to memory. Usage: 1% (10/1100 tokens)",
      is_error: false,
    });
    const { body: block } = await tenant.call("GET", `${path}/blocks/memory`);
    expect(block["content"]).toBe("User likes coffee.\nUser has a dog.");
    expect(await run(path, "set_context", JSON.stringify({ label: "memory", content: "as text" }))).toMatchObject({
      is_error: false,
    });
  });

  test("what a model can't have is an answer, and never a refusal", async () => {
    const path = await newSession();
    await put(path, "memory", { ...MEMORY, max_tokens: 8 });
    await put(path, "soul", { kind: "readonly", content: "You are kind." });
    const outputs = [
      await run(path, "set_context", { label: "nowhere", content: "x" }),
      await run(path, "set_context", { label: "soul", content: "x" }),
      await run(path, "set_context", { label: "memory", content: "abcd".repeat(9) }),
      await run(path, "set_context", { label: "memory" }),
      await run(path, "set_context", "not json"),
      await run(path, "set_context", null),
      await run(path, "load_context", { label: "memory", key: "x" }),
      await run(path, "unload_context", { label: "../..", key: "\u0000" }),
      await run(path, "search_context", { label: "memory", query: '"' }),
      await run(path, "recall", { summary_id: "compaction_x" }),
    ];
    for (const { output, is_error: isError } of outputs) {
      expect(isError).toBe(true);
      expect(output).toMatch(/^Error: /);
    }
    expect(outputs.map(({ output }) => output).slice(0, 3)).toEqual([
      'Error: block "nowhere" not found',
      'Error: block "soul" is readonly',
      'Error: block "memory" exceeds maxTokens: 9 > 8',
    ]);
    expect((await tenant.call("POST", `${path}/tools/rm_rf`, { arguments: {} })).status).toBe(404);
    expect((await tenant.call("GET", `${path}/blocks/memory`)).body["content"]).toBe("User likes coffee.");
  });

  test("a call that is repeated with its key writes once and answers the same", async () => {
    const path = await newSession();
    await put(path, "memory", { kind: "writable" });
    const args = { label: "memory", content: "once", action: "append" };
    const key = { "Idempotency-Key": "call_1" };
    const first = await run(path, "set_context", args, key);
    await run(path, "set_context", { ...args, content: "other" });
    expect(await run(path, "set_context", args, key)).toEqual(first);
    expect((await tenant.call("GET", `${path}/blocks/memory`)).body["content"]).toBe("once\nother");
    const other = await tenant.call("POST", `${path}/tools/set_context`, { arguments: { ...args, content: "x" } }, key);
    expect(refusal(other)).toEqual([422, "idempotency_mismatch", undefined]);
  });

  test("entries of a search block are written, found by their words and listed by key", async () => {
    const path = await newSession();
    await put(path, "knowledge", { kind: "search", description: "What we know" });
    expect(await run(path, "search_context", { label: "knowledge", query: "deployment" })).toEqual({
      output: "No results found.",
      is_error: false,
    });
    const args = { label: "knowledge", content: "The deployment is on Friday", metadata: { title: "Deployment plan" } };
    expect((await run(path, "set_context", args)).output).toBe('Indexed "deployment-plan" in knowledge.');
    const entry = await tenant.call("PUT", `${path}/blocks/knowledge/entries/coffee`, { content: "用户喜欢咖啡" });
    expect(entry.status).toBe(201);
    expect((await run(path, "search_context", { label: "knowledge", query: "friday deployments" })).output).toBe(
      "[deployment-plan] The deployment is on Friday",
    );
    expect((await run(path, "search_context", { label: "knowledge", query: "咖" })).output).toContain("用户喜欢咖啡");
    const { body } = await tenant.call<{ data: { key: string }[] }>("GET", `${path}/blocks/knowledge/entries`);
    expect(body.data.map(({ key }) => key)).toEqual(["coffee", "deployment-plan"]);
    expect(await promptOf(path)).toContain("KNOWLEDGE (What we know) [searchable]\n" + "═".repeat(46) + "\n2 entries indexed.");
    expect((await tenant.call("DELETE", `${path}/blocks/knowledge/entries/coffee`)).status).toBe(204);
    expect((await run(path, "search_context", { label: "knowledge", query: "咖" })).output).toBe("No results found.");
  });

  test("session_search finds what the same user said elsewhere, and nothing of another's", async () => {
    const [mine, elsewhere, others] = [
      await newSession({ user_id: "ann" }),
      await newSession({ user_id: "ann" }),
      await newSession({ user_id: "bob" }),
    ];
    await tenant.call("POST", `${elsewhere}/messages`, { message: text("m1", "user", "my zebra is called Otto") });
    await tenant.call("POST", `${others}/messages`, { message: text("m1", "user", "my zebra is called Egon") });
    const found = async () => (await run(mine, "session_search", { query: "zebra" })).output;
    await expect.poll(found, { timeout: 15_000 }).toContain("Otto");
    expect(await found()).not.toContain("Egon");
    const nobody = await newSession();
    await tenant.call("POST", `${nobody}/messages`, { message: text("m1", "user", "a zebra of nobody") });
    expect((await run(nobody, "session_search", { query: "zebra" })).output).toBe("[user] a zebra of nobody");
  });
});

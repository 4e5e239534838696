/** Skills in a conversation over HTTP: listed, loaded at a version, unloaded out of the history, and what survives. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant();
  await skill("refunds", "Refunds take five days.\n".repeat(200), "How refunds work");
  await skill("support-tone", "Be kind.", "How to speak");
  await skill("support-hours", "From nine to five.");
});
afterAll(() => plane.close());

type Answer = { output: string; is_error: boolean };
type Part = { type: string; toolCallId?: string; output?: unknown };
type History = { data: { id: string; parts: Part[] }[]; meta: { token_estimate: number }[] };

const skill = (key: string, content: string, description = "") =>
  tenant.call("PUT", `/v1/skills/${key}`, content, { "Content-Type": "text/markdown", "Skill-Description": description });
const newSession = async (body: object = {}): Promise<string> => `/v1/sessions/${await plane.session(tenant, body)}`;
const idOf = (path: string): string => path.split("/").at(-1) ?? "";
const run = async (path: string, name: string, args: object): Promise<Answer> =>
  (await tenant.call<Answer>("POST", `${path}/tools/${name}`, { arguments: args })).body;
const history = async (path: string, query = ""): Promise<History> =>
  (await tenant.call<History>("GET", `${path}/messages?limit=100${query}`)).body;
const loaded = async (path: string) =>
  (await tenant.call<{ data: { key: string; version: number | null; tokens: number }[] }>("GET", `${path}/skills`)).body.data;
const tokensOf = async (path: string): Promise<number> =>
  (await tenant.call<{ token_estimate: number }>("GET", path)).body.token_estimate;

/** A message with the calls of a turn, as an application appends it when the turn is over. */
const calls = (id: string, ...parts: object[]) => ({ id, role: "assistant", parts });
const call = (toolCallId: string, name: string, input: object, output: unknown, isStatic = true) => ({
  ...(isStatic ? { type: `tool-${name}` } : { type: "dynamic-tool", toolName: name }),
  ...{ toolCallId, state: "output-available", input, output },
});

const REFUNDS = { label: "skills", key: "refunds" };

/** A session that has loaded `refunds` with the call `call-1` of the message `a1`. */
async function sessionWithRefunds(): Promise<string> {
  const path = await newSession({ blocks: [{ label: "skills", kind: "skills" }] });
  const { output } = await run(path, "load_context", REFUNDS);
  const messages = [
    text("u1", "user", "how long does a refund take?"),
    calls("a1", call("call-1", "load_context", REFUNDS, output)),
  ];
  expect((await tenant.call("POST", `${path}/messages`, { messages })).status).toBe(201);
  return path;
}

describe("a block of skills", () => {
  test("lists the tenant's skills in the prompt and gives tools to load them", async () => {
    const path = await newSession({ blocks: [{ label: "skills", kind: "skills" }] });
    const { body } = await tenant.call<{ prompt: string }>("GET", `${path}/prompt`);
    expect(body.prompt).toContain("SKILLS [loadable]");
    expect(body.prompt).toContain("- refunds: How refunds work\n- support-hours\n- support-tone: How to speak");
    const tools = await tenant.call<{ data: { name: string }[] }>("GET", `${path}/tools`);
    expect(tools.body.data.map(({ name }) => name)).toEqual(["load_context", "unload_context", "session_search"]);
    const { output } = await run(path, "load_context", REFUNDS);
    expect(output).toBe("Refunds take five days.\n".repeat(200));
    expect(await loaded(path)).toMatchObject([{ key: "refunds", version: 1 }]);
  });

  test("lets through what its prefix and keys say, under the rest of the key, and nothing else", async () => {
    const path = await newSession({ blocks: [{ label: "support", kind: "skills", prefix: "support-", keys: ["tone"] }] });
    expect((await tenant.call<{ content: string }>("GET", `${path}/blocks/support`)).body.content).toBe("- tone: How to speak");
    expect(await run(path, "load_context", { label: "support", key: "tone" })).toEqual({ output: "Be kind.", is_error: false });
    for (const key of ["hours", "refunds", "../refunds", "a/b", "\u0000", "x".repeat(500), ""])
      expect(await run(path, "load_context", { label: "support", key })).toMatchObject({ is_error: true });
  });

  test("is closed to a model's writes; one that the session owns is not", async () => {
    const path = await newSession({
      blocks: [
        { label: "skills", kind: "skills" },
        { label: "own", kind: "skills", owner: "session" },
      ],
    });
    const refused = await run(path, "set_context", { label: "skills", content: "forged", metadata: { title: "refunds" } });
    expect(refused).toEqual({ output: 'Error: block "skills" is readonly', is_error: true });
    const written = await run(path, "set_context", {
      ...{ label: "own", content: "How I did it" },
      metadata: { title: "My way", description: "What worked" },
    });
    expect(written.output).toBe('Indexed "my-way" in own.');
    expect((await tenant.call<{ content: string }>("GET", `${path}/blocks/own`)).body.content).toBe("- my-way: What worked");
    expect((await run(path, "load_context", { label: "own", key: "my-way" })).output).toBe("How I did it");
    expect((await tenant.call("GET", "/v1/skills/my-way")).status).toBe(404);
  });
});

describe("a loaded skill", () => {
  test("keeps its version when the skill changes, until it is unloaded; eviction changes nothing", async () => {
    await skill("changing", "version one");
    const path = await newSession({ blocks: [{ label: "skills", kind: "skills" }] });
    const args = { label: "skills", key: "changing" };
    await run(path, "load_context", args);
    await skill("changing", "version two");
    await plane.evict(tenant, idOf(path));
    expect((await run(path, "load_context", args)).output).toBe("version one");
    expect(await loaded(path)).toMatchObject([{ key: "changing", version: 1 }]);
    await run(path, "unload_context", args);
    expect(await loaded(path)).toEqual([]);
    expect((await run(path, "load_context", args)).output).toBe("version two");
  });

  test("is taken out of the history when it is unloaded, and stays in the raw view; the tokens go with it", async () => {
    const path = await sessionWithRefunds();
    const before = await tokensOf(path);
    expect(before).toBeGreaterThan(1_000);
    expect(await run(path, "unload_context", REFUNDS)).toEqual({
      output: 'Unloaded "refunds" from skills. Context reclaimed.',
      is_error: false,
    });
    await plane.evict(tenant, idOf(path));
    const shown = await history(path);
    expect(shown.data[1]?.parts[0]?.output).toBe("[skill unloaded: refunds]");
    const raw = await history(path, "&view=raw");
    expect(raw.data[1]?.parts[0]?.output).toBe("Refunds take five days.\n".repeat(200));
    const after = await tokensOf(path);
    expect(after).toBeLessThan(50);
    expect(shown.meta.reduce((sum, { token_estimate: tokens }) => sum + tokens, 0)).toBe(after);
    const lines = await tenant.call<string>("GET", `${path}/messages`, undefined, { Accept: "application/x-ndjson" });
    expect(lines.body).toContain("[skill unloaded: refunds]");
    const again = await run(path, "unload_context", REFUNDS);
    expect(again.output).toContain("is not currently loaded");
    expect(again.is_error).toBe(true);
  });

  test("that is loaded again shows where it was loaded last; every older copy stays away", async () => {
    const path = await sessionWithRefunds();
    await run(path, "load_context", REFUNDS);
    await run(path, "unload_context", REFUNDS);
    const { output } = await run(path, "load_context", REFUNDS);
    await tenant.call("POST", `${path}/messages`, {
      message: calls("a2", call("call-2", "load_context", REFUNDS, output, false)),
    });
    const outputs = async () => (await history(path)).data.slice(1).map(({ parts }) => parts[0]?.output);
    expect(await outputs()).toEqual(["[skill unloaded: refunds]", output]);
    await run(path, "unload_context", REFUNDS);
    expect(await outputs()).toEqual(["[skill unloaded: refunds]", "[skill unloaded: refunds]"]);
  });

  test("that was unloaded before its message is stored is not in the history either", async () => {
    const path = await newSession({ blocks: [{ label: "skills", kind: "skills" }] });
    const first = await run(path, "load_context", REFUNDS);
    const second = await run(path, "unload_context", REFUNDS);
    const message = calls(
      "a1",
      call("call-1", "load_context", REFUNDS, first.output),
      call("call-2", "unload_context", REFUNDS, second.output),
    );
    await tenant.call("POST", `${path}/messages`, { message });
    expect((await history(path)).data[0]?.parts[0]?.output).toBe("[skill unloaded: refunds]");
  });

  test("is known from the messages of a conversation that was begun elsewhere", async () => {
    const path = await newSession({ blocks: [{ label: "skills", kind: "skills" }] });
    const message = calls("a1", call("call-1", "load_context", REFUNDS, "an old copy of it"));
    await tenant.call("POST", `${path}/messages`, { message });
    expect(await loaded(path)).toMatchObject([{ key: "refunds", version: null }]);
    await run(path, "unload_context", REFUNDS);
    expect((await history(path)).data[0]?.parts[0]?.output).toBe("[skill unloaded: refunds]");
  });

  test("whose result comes by PATCH is hidden like any other", async () => {
    const path = await newSession({ blocks: [{ label: "skills", kind: "skills" }] });
    const open = { type: "tool-load_context", toolCallId: "call-1", state: "input-available", input: REFUNDS };
    await tenant.call("POST", `${path}/messages`, { message: calls("a1", open) });
    const { output } = await run(path, "load_context", REFUNDS);
    await tenant.call("PATCH", `${path}/messages/a1`, { toolCallId: "call-1", output });
    await run(path, "unload_context", REFUNDS);
    expect((await history(path)).data[0]?.parts[0]?.output).toBe("[skill unloaded: refunds]");
    await tenant.call("PATCH", `${path}/messages/a1`, { toolCallId: "call-1", output: "other" });
    expect((await history(path)).data[0]?.parts[0]?.output).toBe("[skill unloaded: refunds]");
  });

  test("is forgotten when the messages are cleared", async () => {
    const path = await sessionWithRefunds();
    await tenant.call("DELETE", `${path}/messages`);
    expect(await loaded(path)).toEqual([]);
  });
});

describe("another session", () => {
  const lines = async (path: string): Promise<string> => (await tenant.call<string>("GET", `${path}/export`)).body;
  const NDJSON = { "Content-Type": "application/x-ndjson" };

  /** Blocks of every kind, a frozen prompt, a loaded and an unloaded skill. */
  async function furnished(): Promise<string> {
    const path = await sessionWithRefunds();
    await tenant.call("PUT", `${path}/blocks/memory`, { kind: "writable", max_tokens: 100, content: "User likes coffee." });
    await tenant.call("PUT", `${path}/blocks/soul`, { kind: "readonly", description: "Identity", content: "You are kind." });
    await tenant.call("PUT", `${path}/blocks/notes`, { kind: "search", writable: false });
    await tenant.call("PUT", `${path}/blocks/notes/entries/one`, { content: "用户喜欢咖啡", description: "coffee" });
    await tenant.call("PUT", `${path}/blocks/own`, { kind: "skills", owner: "session", when_changed: "remind" });
    await tenant.call("GET", `${path}/prompt`);
    await tenant.call("PATCH", `${path}/blocks/memory`, { content: "User likes tea." });
    await run(path, "unload_context", REFUNDS);
    await run(path, "load_context", { label: "skills", key: "support-tone" });
    return path;
  }

  test("that is imported of an export is the same, blocks, prompt and loaded skills too", async () => {
    const exported = await lines(await furnished());
    const shuffled = exported.trimEnd().split("\n").toReversed().join("\n");
    const made = await tenant.call<{ id: string }>("POST", "/v1/sessions/import", shuffled, NDJSON);
    expect(made.status).toBe(201);
    const path = `/v1/sessions/${made.body.id}`;
    expect(await lines(path)).toBe(exported);
    expect((await history(path)).data[1]?.parts[0]?.output).toBe("[skill unloaded: refunds]");
    expect(await loaded(path)).toMatchObject([{ key: "support-tone", version: 1 }]);
    expect((await run(path, "search_context", { label: "notes", query: "咖啡" })).output).toContain("用户喜欢咖啡");
  });

  test("that is forked has the blocks and the frozen prompt, so that a provider's cache holds", async () => {
    const path = await furnished();
    const fork = await tenant.call<{ id: string }>("POST", `${path}/fork`, { at_message_id: "u1" });
    const forked = `/v1/sessions/${fork.body.id}`;
    const promptOf = async (of: string) => (await tenant.call<{ prompt: string }>("GET", `${of}/prompt`)).body.prompt;
    expect(await promptOf(forked)).toBe(await promptOf(path));
    expect((await tenant.call<{ content: string }>("GET", `${forked}/blocks/memory`)).body.content).toBe("User likes tea.");
    expect(await loaded(forked)).toEqual([]);
  });

  test("that goes on after a split has the blocks, and a prompt of what they say now", async () => {
    const path = await furnished();
    const split = await tenant.call<{ id: string }>("POST", `${path}/split`, { summary: "They spoke of refunds." });
    expect(split.status).toBe(201);
    const next = `/v1/sessions/${split.body.id}`;
    expect((await tenant.call<{ prompt: string }>("GET", `${next}/prompt`)).body.prompt).toContain("User likes tea.");
    expect((await history(next)).data).toHaveLength(1);
  });

  test("is not made of entries without a block, or of a block twice", async () => {
    const times = { created_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:00.000Z" };
    const entry = JSON.stringify({ kind: "entry", ...times, entry: { label: "notes", key: "one", content: "x" } });
    const stray = await tenant.call("POST", "/v1/sessions/import", entry, NDJSON);
    expect([stray.status, stray.body["code"]]).toEqual([422, "import_refused"]);
    const block = JSON.stringify({ kind: "block", ...times, block: { label: "memory", kind: "writable" } });
    const twice = await tenant.call("POST", "/v1/sessions/import", `${block}\n${block}`, NDJSON);
    expect([twice.status, twice.body["line"]]).toEqual([422, 2]);
  });
});

test("over a loop of 40 turns with an eviction the prompt and the tools stay the same characters until a refresh", async () => {
  const path = await newSession({
    blocks: [
      { label: "soul", kind: "readonly", content: "You are kind." },
      { label: "memory", kind: "writable", max_tokens: 2_000 },
      { label: "notes", kind: "search" },
      { label: "skills", kind: "skills" },
    ],
  });
  const prefix = async () => {
    const [prompt, tools] = [await tenant.call("GET", `${path}/prompt`), await tenant.call("GET", `${path}/tools`)];
    return JSON.stringify([prompt.body["prompt"], tools.body["data"]]);
  };
  const first = await prefix();
  for (let turn = 0; turn < 40; turn++) {
    const steps: [string, object][] = [
      ["set_context", { label: "memory", content: `turn ${turn}`, action: "append" }],
      ["set_context", { label: "notes", content: `note ${turn}` }],
      [turn % 2 === 0 ? "load_context" : "unload_context", REFUNDS],
    ];
    const parts: object[] = [];
    for (const [index, [name, input]] of steps.entries()) {
      const { output } = await run(path, name, input);
      parts.push(call(`call-${turn}-${index}`, name, input, output));
    }
    const messages = [text(`u${turn}`, "user", `say ${turn}`), calls(`a${turn}`, ...parts)];
    expect((await tenant.call("POST", `${path}/messages`, { messages })).status).toBe(201);
    if (turn === 20) await plane.evict(tenant, idOf(path));
    expect(await prefix()).toBe(first);
  }
  const { body } = await tenant.call<{ prompt: string }>("POST", `${path}/prompt/refresh`);
  expect(body.prompt).toContain("turn 39");
  expect(body.prompt).toContain("40 entries indexed.");
});

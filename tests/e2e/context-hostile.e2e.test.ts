/** What callers and models send that a session's context must survive: it can't break an export, a count or a page. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text } from "../support/harness.ts";

let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant();
});
afterAll(() => plane.close());

const NDJSON = { "Content-Type": "application/x-ndjson" };
const NOW = "2026-01-01T00:00:00.000Z";
const DOCUMENT = "A document. ".repeat(100);

type Answer = { output: string; is_error: boolean };
type Page = { data: { key: string; description: string | null }[]; has_more: boolean; next_cursor: string | null };
type History = { data: { parts: { output?: unknown }[] }[]; meta: { token_estimate: number }[] };

const newSession = async (...blocks: object[]): Promise<string> => `/v1/sessions/${await plane.session(tenant, { blocks })}`;
const run = async (path: string, name: string, args: unknown): Promise<Answer> =>
  (await tenant.call<Answer>("POST", `${path}/tools/${name}`, { arguments: args })).body;
const entries = async (path: string, query = ""): Promise<Page> =>
  (await tenant.call<Page>("GET", `${path}/blocks/notes/entries${query}`)).body;
const history = async (path: string): Promise<History> => (await tenant.call<History>("GET", `${path}/messages?limit=100`)).body;
const outputs = async (path: string) => (await history(path)).data.flatMap(({ parts }) => parts.map(({ output }) => output));

const exported = async (path: string): Promise<string> => (await tenant.call<string>("GET", `${path}/export`)).body;
const imported = (lines: string) => tenant.call<{ id: string }>("POST", "/v1/sessions/import", lines, NDJSON);
async function expectSameAgain(path: string): Promise<void> {
  const lines = await exported(path);
  const made = await imported(lines);
  expect(made.status).toBe(201);
  expect(await exported(`/v1/sessions/${made.body.id}`)).toBe(lines);
}

const call = (toolCallId: string, name: string, input: object, output: unknown) => ({
  ...{ type: `tool-${name}`, toolCallId, state: "output-available", input, output },
});
const append = (path: string, id: string, ...parts: object[]) =>
  tenant.call("POST", `${path}/messages`, { message: { id, role: "assistant", parts } });

const NOTES = { label: "notes", kind: "search" };
const OWN = { label: "own", kind: "skills", owner: "session" };
const GUIDE = { label: "own", key: "guide" };

async function sessionWithGuide(): Promise<string> {
  const path = await newSession(OWN);
  await tenant.call("PUT", `${path}/blocks/own/entries/guide`, { content: DOCUMENT });
  return path;
}

describe("what a model writes as an entry", () => {
  test("is what an entry may be, so that an export of it can be imported", async () => {
    const path = await newSession(NOTES);
    const write = (content: string, metadata: object) => run(path, "set_context", { label: "notes", content, metadata });
    expect(await write("", { title: "empty" })).toMatchObject({ is_error: true });
    expect(await write("x".repeat(262_145), { title: "long" })).toMatchObject({ is_error: true });
    expect(await write("fine", { title: "said", description: `one\ntwo\u0001\u2028${"three ".repeat(500)}` })).toMatchObject({
      is_error: false,
    });
    const { data } = await entries(path);
    expect(data.map(({ key }) => key)).toEqual(["said"]);
    expect(data[0]?.description).toMatch(/^one two three three/);
    await expectSameAgain(path);
  });

  test("is refused with half of a surrogate pair, in a string of JSON too", async () => {
    const path = await newSession({ label: "memory", kind: "writable", content: "before" });
    expect(await run(path, "set_context", String.raw`{"label":"memory","content":"\ud800"}`)).toMatchObject({ is_error: true });
    expect((await tenant.call("GET", `${path}/blocks/memory`)).body["content"]).toBe("before");
  });
});

test("a list of large entries comes in pages of a few MiB, and all of them are in it", async () => {
  const path = await newSession(NOTES);
  const content = "茶".repeat(262_144);
  for (let index = 10; index < 22; index++)
    expect((await tenant.call("PUT", `${path}/blocks/notes/entries/k${index}`, { content })).status).toBe(201);
  const keys: string[] = [];
  for (let query = "?limit=100"; query !== "";) {
    const page = await entries(path, query);
    expect(page.data.length).toBeLessThan(6);
    keys.push(...page.data.map(({ key }) => key));
    query = page.has_more ? `?limit=100&cursor=${page.next_cursor}` : "";
  }
  expect(keys).toEqual(Array.from({ length: 12 }, (_, index) => `k${index + 10}`));
  await expectSameAgain(path);
});

describe("a loaded skill", () => {
  test("of a block that could not be here breaks neither export nor fork", async () => {
    const path = await newSession();
    await append(path, "a1", call("c1", "load_context", { label: "My Skills!", key: "ключ / 1" }, DOCUMENT));
    await append(path, "a2", call("c2", "load_context", { label: "", key: "k".repeat(100_000) }, DOCUMENT));
    await expectSameAgain(path);
    expect((await tenant.call("POST", `${path}/fork`, { at_message_id: "a2" })).status).toBe(201);
  });

  test("stays in the history when the message that unloaded it before is edited", async () => {
    const path = await sessionWithGuide();
    const load = async (id: string) =>
      append(path, id, call(`call-${id}`, "load_context", GUIDE, (await run(path, "load_context", GUIDE)).output));
    await load("a1");
    const unload = call("call-a2", "unload_context", GUIDE, (await run(path, "unload_context", GUIDE)).output);
    await append(path, "a2", unload);
    await load("a3");
    await tenant.call("PUT", `${path}/messages/a2`, {
      message: { id: "a2", role: "assistant", parts: [unload, { type: "text", text: "ok" }] },
    });
    expect((await outputs(path)).at(-1)).toBe(DOCUMENT);
    await tenant.call("PUT", `${path}/messages/a1`, {
      message: { id: "a1", role: "assistant", parts: [call("another", "load_context", GUIDE, DOCUMENT)] },
    });
    expect((await outputs(path))[0]).toBe(DOCUMENT);
    await expectSameAgain(path);
  });

  test("that is unloaded takes out of the sums what it takes out of the history, whatever its output was", async () => {
    const path = await sessionWithGuide();
    await run(path, "load_context", GUIDE);
    const other = { label: "own", key: "other" };
    await append(
      path,
      "a1",
      call("same", "load_context", other, "An older result. ".repeat(50)),
      call("same", "load_context", GUIDE, { output: DOCUMENT, is_error: false, also: "more ".repeat(200) }),
    );
    await run(path, "unload_context", GUIDE);
    const { data, meta } = await history(path);
    expect(data[0]?.parts.map(({ output }) => output)).toEqual(["An older result. ".repeat(50), "[skill unloaded: guide]"]);
    const session = await tenant.call<{ token_estimate: number }>("GET", path);
    expect(meta[0]?.token_estimate).toBe(session.body.token_estimate);
  });
});

test("a read with attachments in place does not weigh those of a document that was unloaded", async () => {
  const path = await sessionWithGuide();
  await run(path, "load_context", GUIDE);
  const url = `data:image/png;base64,${Buffer.alloc(30_000, 7).toString("base64")}`;
  await append(path, "a1", call("c1", "load_context", GUIDE, { output: DOCUMENT, picture: { url } }));
  const bytes = async (query: string) =>
    (await tenant.call<{ meta: { bytes: number }[] }>("GET", `${path}/messages?attachments=inline${query}`)).body.meta[0]?.bytes;
  expect(await bytes("")).toBeGreaterThan(40_000);
  await run(path, "unload_context", GUIDE);
  expect(await bytes("")).toBeLessThan(1_000);
  expect(await bytes("&view=raw")).toBeGreaterThan(40_000);
});

describe("an import", () => {
  const line = (value: object): string => `${JSON.stringify(value)}\n`;
  const refusal = async (lines: string) => {
    const { status, body } = await tenant.call("POST", "/v1/sessions/import", lines, NDJSON);
    return [status, body["code"], body["line"]];
  };

  test("says a thing of a session once", async () => {
    const prompt = line({ kind: "prompt", prompt: "x", frozen_at: NOW });
    expect(await refusal(prompt + prompt)).toEqual([422, "invalid", 2]);
    const skill = line({ kind: "skill", ...GUIDE, version: 1, sha256: null, tokens: 1, loaded_at: NOW });
    expect(await refusal(skill + skill)).toEqual([422, "invalid", 2]);
  });

  test("has no more entries of a block than a block may have", async () => {
    const times = { created_at: NOW, updated_at: NOW };
    const lines = [
      line({ kind: "block", ...times, block: NOTES }),
      ...Array.from({ length: 10_001 }, (_, index) =>
        line({ kind: "entry", ...times, entry: { label: "notes", key: `k${index}`, content: "x" } }),
      ),
      line({ kind: "message", parent_id: null, message: text("u1", "user", "hi") }),
    ];
    expect(await refusal(lines.join(""))).toEqual([413, "context_full", undefined]);
  });
});

import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import { RULES, append, errorOf, message, opened, valueOf } from "../testing/session.ts";

afterEach(() => vi.restoreAllMocks());

const idsOf = async (session: Awaited<ReturnType<typeof opened>>, leaf_id?: string): Promise<string[]> => {
  const query = { view: "raw", order: "asc", limit: 100, ...(leaf_id === undefined ? {} : { leaf_id }) } as const;
  return valueOf(await session.rpc().readHistory(query)).items.map((item) => item.meta.id);
};

describe("append", () => {
  test("hangs a message below the active leaf, and the reply says so", async () => {
    const session = await opened();
    await append(session, [message("a")]);
    const reply = await append(session, [message("b")]);
    expect(reply).toMatchObject({ leaf_id: "b", compaction_job_id: null, results: [{ id: "b", inserted: true }] });
    expect(await idsOf(session)).toEqual(["a", "b"]);
  });

  test("keeps the first content of an id and returns what is stored", async () => {
    const session = await opened();
    await append(session, [message("a", "first")]);
    const reply = await append(session, [message("a", "second")]);
    expect(reply.results).toEqual([{ id: "a", inserted: false, message: message("a", "first") }]);
    expect(valueOf(await session.rpc().describe(RULES)).message_count).toBe(1);
  });

  test("chains a batch, below a repeated message too", async () => {
    const session = await opened();
    await append(session, [message("a"), message("b")]);
    await append(session, [message("a"), message("c"), message("d")]);
    await append(session, [message("c"), message("e")]);
    expect(await idsOf(session, "b")).toEqual(["a", "b"]);
    expect(await idsOf(session, "d")).toEqual(["a", "c", "d"]);
    expect(await idsOf(session)).toEqual(["a", "c", "e"]);
  });

  test("starts a new root on null and a branch on an older message", async () => {
    const session = await opened();
    await append(session, [message("a"), message("b")]);
    await append(session, [message("root")], { parent_id: null });
    await append(session, [message("c")], { parent_id: "a" });
    expect(await idsOf(session, "root")).toEqual(["root"]);
    expect(await idsOf(session)).toEqual(["a", "c"]);
  });

  test("loses none of many appends at once", async () => {
    const session = await opened();
    await Promise.all(Array.from({ length: 40 }, (_, index) => append(session, [message(`m${index}`)])));
    expect(new Set(await idsOf(session)).size).toBe(40);
  });

  test("writes two rows for a plain message", async () => {
    const session = await opened();
    await append(session, [message("a"), message("b")]);
    const written = await runInDurableObject(session.stub, async (instance, state) => {
      const prototype = Object.getPrototypeOf(state.storage.sql) as SqlStorage;
      const exec = vi.spyOn(prototype, "exec");
      await instance.append({ messages: [message("c")], source: "server", rules: RULES });
      return exec.mock.results.map((call) => (call.value as SqlStorageCursor<never>).rowsWritten);
    });
    expect(written.reduce((sum, rows) => sum + rows, 0)).toBe(2);
  });

  test("splits a message that no row holds and reads it back exactly", async () => {
    const session = await opened();
    const large = message("large", "héllo 🙂 ".repeat(350_000));
    await append(session, [message("a"), large, message("b")]);
    await evictDurableObject(session.stub);
    const read = valueOf(await session.rpc().getMessage({ id: "large" }));
    expect(read.json === JSON.stringify(large)).toBe(true);
    expect(read.meta.bytes).toBe(new TextEncoder().encode(read.json).byteLength);
    const again = await append(session, [large]);
    expect(again.results[0]?.inserted).toBe(false);
  });

  test("survives eviction and goes on where it was", async () => {
    const session = await opened();
    await append(session, [message("a"), message("b")]);
    await evictDurableObject(session.stub);
    await append(session, [message("c")]);
    expect(await idsOf(session)).toEqual(["a", "b", "c"]);
  });
});

describe("a refused append changes nothing", () => {
  const refusals = [
    ["unknown_parent", "/parent_id", [message("x")], { parent_id: "nowhere" }],
    ["reserved_message_id", "/messages/1/id", [message("x"), message("compaction_x")], {}],
    ["reserved_message_id", "/messages/0/id", [message("ovl_x")], {}],
    ["duplicate_message_id", "/messages/2/id", [message("x"), message("y"), message("x")], {}],
    ["role_not_allowed", "/messages/1/role", [message("x"), message("y", "y", "assistant")], { source: "client" }],
  ] as const;

  test.each(refusals)("%s at %s", async (code, pointer, messages, rest) => {
    const session = await opened();
    await append(session, [message("a")]);
    const before = valueOf(await session.rpc().describe(RULES));
    const refused = errorOf(await session.rpc().append({ messages, source: "server", rules: RULES, ...rest }));
    expect(refused).toMatchObject({ code, errors: [{ pointer }] });
    expect(valueOf(await session.rpc().describe(RULES))).toEqual(before);
  });

  test("session_ended", async () => {
    const session = await opened();
    valueOf(await session.rpc().end({ reason: "done", rules: RULES }));
    const refused = await session.rpc().append({ messages: [message("a")], source: "server", rules: RULES });
    expect(errorOf(refused).code).toBe("session_ended");
  });
});

test("a client's message loses the metadata that only the server may set", async () => {
  const session = await opened();
  await append(session, [{ ...message("a"), metadata: { verified: true } }], { source: "client" });
  await append(session, [{ ...message("b"), metadata: { verified: true, mood: "good" } }], { source: "client" });
  await append(session, [{ ...message("c"), metadata: { verified: true } }]);
  const stored = async (id: string): Promise<unknown> => JSON.parse(valueOf(await session.rpc().getMessage({ id: id })).json);
  expect(await stored("a")).toEqual(message("a"));
  expect(await stored("b")).toMatchObject({ metadata: { mood: "good" } });
  expect(await stored("c")).toMatchObject({ metadata: { verified: true } });
});

describe("an idempotency key", () => {
  const keyed = { idempotency: { key: "k", fingerprint: "f" }, source: "server", rules: RULES } as const;

  test("answers a repetition as the first time, after an eviction and after the end of the session", async () => {
    const session = await opened();
    const first = valueOf(await session.rpc().append({ messages: [message("a"), message("b")], ...keyed }));
    await evictDurableObject(session.stub);
    valueOf(await session.rpc().end({ reason: "done", rules: RULES }));
    const second = valueOf(await session.rpc().append({ messages: [message("a"), message("b")], ...keyed }));
    expect(first.replayed).toBe(false);
    expect(second).toEqual({ ...first, replayed: true });
  });

  test("refuses another request", async () => {
    const session = await opened();
    valueOf(await session.rpc().append({ messages: [message("a")], ...keyed }));
    const other = { ...keyed, idempotency: { key: "k", fingerprint: "other" } };
    const refused = errorOf(await session.rpc().append({ messages: [message("b")], ...other }));
    expect(refused.code).toBe("idempotency_mismatch");
    expect(await idsOf(session)).toEqual(["a"]);
  });

  test("keeps no refusal", async () => {
    const session = await opened();
    errorOf(await session.rpc().append({ messages: [message("b")], parent_id: "a", ...keyed }));
    await append(session, [message("a")]);
    const reply = valueOf(await session.rpc().append({ messages: [message("b")], parent_id: "a", ...keyed }));
    expect(reply).toMatchObject({ replayed: false, value: { results: [{ inserted: true }] } });
  });
});

/** What a manager gives all its sessions of context, and the search over their conversations. */
import { describe, expect, test } from "vitest";
import { SessionManager } from "../sessions.ts";
import { readonlyText } from "../testing/context-providers.ts";
import type { TestHost } from "../testing/host-worker.ts";
import { newObject, text } from "../testing/in-object.ts";

const SOUL = { provider: readonlyText("You are helpful.") };

describe("context blocks", () => {
  test("are each session's own, of sessions handed out before too", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host).withContext("soul", SOUL);
      const early = manager.getSession("early");
      manager.withContext("memory", { description: "Learned facts", maxTokens: 1100 }).withCachedPrompt();
      await early.replaceContextBlock("memory", "of early");
      expect(await early.freezeSystemPrompt()).toContain("You are helpful.");
      expect(await manager.getSession("late").freezeSystemPrompt()).not.toContain("of early");
      expect((await manager.getContextBlocks("late")).map(({ label }) => label)).toEqual(["soul", "memory"]);
    }));

  test("are written and read by the session's id, which is then the last that was changed", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host).withContext("memory");
      const [first, second] = [await manager.create("first"), await manager.create("second")];
      expect((await manager.replaceContextBlock(first.id, "memory", "coffee")).content).toBe("coffee");
      await manager.appendContextBlock(first.id, "memory", "no sugar");
      expect((await manager.getContextBlock(first.id, "memory"))?.content).toBe("coffee\nno sugar");
      expect((await manager.getContextBlock(second.id, "memory"))?.content).toBe("");
      expect(await manager.getContextBlock(first.id, "none")).toBeNull();
      expect((await manager.list()).map(({ name }) => name)).toEqual(["first", "second"]);
    }));

  test("and prompts outlive an eviction, and go with their session to the last byte", async () => {
    const object = newObject();
    const make = (host: TestHost) =>
      SessionManager.create(host).withContext("soul", SOUL).withContext("memory").withCachedPrompt();
    const id = await object.run(async (host) => {
      const manager = make(host);
      const { id } = await manager.create("a");
      await manager.getSession(id).freezeSystemPrompt();
      await manager.replaceContextBlock(id, "memory", "a secret");
      return id;
    });
    await object.evict();
    await object.run(async (host) => {
      const manager = make(host);
      expect(await manager.getSession(id).freezeSystemPrompt()).not.toContain("a secret");
      expect((await manager.getContextBlock(id, "memory"))?.content).toBe("a secret");
      await manager.delete(id);
      const left = host.state.storage.sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
      const names = left.map(({ name }) => name).filter((name) => name.startsWith("sp_"));
      expect(names.toSorted()).toEqual(["sp_registry", "sp_sessions"]);
      expect((await manager.getContextBlock(id, "memory"))?.content).toBe("");
      expect(await manager.getSession(id).freezeSystemPrompt()).toContain("MEMORY");
    });
  });

  test("do not go into a fork", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host).withContext("memory");
      const { id } = await manager.create("a");
      await manager.append(id, text("m1"));
      await manager.replaceContextBlock(id, "memory", "of a");
      const fork = await manager.fork(id, "m1", "fork");
      expect((await manager.getContextBlock(fork.id, "memory"))?.content).toBe("");
    }));
});

test("a document that was unloaded is unloaded in a fork too", () =>
  newObject().run(async (host) => {
    const manager = SessionManager.create(host);
    const { id } = await manager.create("a");
    const input = { label: "skills", key: "guide" };
    const part = { type: "tool-load_context", toolCallId: "c", state: "output-available", input, output: "# Guide" };
    await manager.append(id, { id: "m1", role: "assistant", parts: [part] });
    await manager.getSession(id).addContext("skills", { provider: { get: () => null, load: () => null } });
    await (await manager.getSession(id).tools())["unload_context"]?.execute(input);
    const fork = await manager.fork(id, "m1", "fork");
    expect((await manager.getHistory(fork.id))[0]?.parts[0]?.["output"]).toBe("[skill unloaded: guide]");
  }));

describe("conversations", () => {
  test("are searched by a tool of the manager alone", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host).withContext("memory");
      const [first, second] = [await manager.create("first"), await manager.create("second")];
      await manager.append(first.id, text("m1", "The deployment of the shop is on Friday."));
      await manager.append(second.id, text("m1", "Friday is the day of the deployment.", "assistant"));
      await manager.append(second.id, text("m2", "Something else."));
      const tools = await manager.tools();
      expect(Object.keys(tools)).toEqual(["session_search"]);
      const answer = await tools["session_search"]?.execute({ query: "Friday deployment" });
      expect(answer?.split("\n---\n").toSorted()).toEqual([
        "[assistant] Friday is the day of the deployment.",
        "[user] The deployment of the shop is on Friday.",
      ]);
      expect(await tools["session_search"]?.execute({ query: "submarine" })).toBe("No results found.");
      expect(await tools["session_search"]?.execute({})).toMatch(/^Error: /);
      expect(Object.keys(await manager.getSession(first.id).tools())).toEqual(["set_context"]);
    }));

  test("are searched ten at most", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host);
      const { id } = await manager.create("a");
      for (let index = 0; index < 12; index++) await manager.append(id, text(`m${index}`, "the same words"));
      expect((await (await manager.tools())["session_search"]?.execute({ query: "words" }))?.split("\n---\n")).toHaveLength(10);
    }));

  test("are a block of every session, which nothing is written into", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host).withSearchableHistory("history");
      const { id } = await manager.create("first");
      await manager.append(id, text("m1", "The wifi is swordfish."));
      const session = manager.getSession((await manager.create("second")).id);
      const prompt = await session.freezeSystemPrompt();
      expect(prompt).toContain("HISTORY (Earlier conversations) [searchable]");
      expect(prompt).toContain("2 sessions available for search.");
      expect(session.getContextBlock("history")).toMatchObject({ writable: false, isSearchable: true });
      const tools = await session.tools();
      expect(Object.keys(tools)).toEqual(["search_context"]);
      expect(await tools["search_context"]?.execute({ label: "history", query: "wifi" })).toBe("[user] The wifi is swordfish.");
      await manager.delete(id);
      expect(await tools["search_context"]?.execute({ label: "history", query: "wifi" })).toBe("No results found.");
    }));
});

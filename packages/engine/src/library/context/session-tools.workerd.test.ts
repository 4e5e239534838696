/** The tools that a model gets: which there are, what they do and what they answer. */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { AgentSearchProvider, Session, type SessionTools } from "../sessions.ts";
import { entries, readonlyText, skills, writableText } from "../testing/context-providers.ts";
import { newObject } from "../testing/in-object.ts";

const call = async (session: Session, name: string, args: unknown): Promise<string | undefined> =>
  (await session.tools())[name]?.execute(args);

type JsonSchema = { properties?: Record<string, { enum?: unknown; properties?: object }>; required?: string[] };
const schemaOf = (tools: SessionTools, name: string): JsonSchema => {
  const tool = tools[name];
  return tool === undefined ? {} : (z.toJSONSchema(tool.inputSchema) as JsonSchema);
};

describe("there are tools", () => {
  test("for what the blocks can do, and none where they can do nothing", () =>
    newObject().run(async (host) => {
      const namesWith = async (provider: Parameters<Session["withContext"]>[1]) =>
        Object.keys(await Session.create(host).forSession(crypto.randomUUID()).withContext("block", provider).tools());
      expect(await Session.create(host).tools()).toEqual({});
      expect(await namesWith({ provider: readonlyText("x") })).toEqual([]);
      expect(await namesWith({})).toEqual(["set_context"]);
      expect(await namesWith({ provider: writableText() })).toEqual(["set_context"]);
      expect(await namesWith({ provider: { get: () => null, load: () => null } })).toEqual(["load_context", "unload_context"]);
      expect(await namesWith({ provider: skills({}) })).toEqual(["set_context", "load_context", "unload_context"]);
      expect(await namesWith({ provider: { get: () => null, search: () => null } })).toEqual(["search_context"]);
      expect(await namesWith({ provider: entries() })).toEqual(["set_context", "search_context"]);
    }));

  test("that name the blocks which they work on, and ask for metadata where an entry can have it", () =>
    newObject().run(async (host) => {
      const session = Session.create(host)
        .withContext("soul", { provider: readonlyText("x") })
        .withContext("memory", { description: "Learned facts" });
      const plain = schemaOf(await session.tools(), "set_context");
      expect(plain.properties?.["label"]?.enum).toEqual(["memory"]);
      expect(Object.keys(plain.properties ?? {})).toEqual(["label", "content", "action"]);
      expect(plain.required).toEqual(["label", "content"]);
      const tools = await session
        .withContext("skills", { provider: skills({}) })
        .withContext("knowledge", { provider: entries() })
        .tools();
      const keyed = schemaOf(tools, "set_context");
      expect(keyed.properties?.["label"]?.enum).toEqual(["memory", "skills", "knowledge"]);
      expect(Object.keys(keyed.properties?.["metadata"]?.properties ?? {})).toEqual(["title", "description"]);
      expect(tools["set_context"]?.description).toContain('"memory": Learned facts');
      expect(tools["set_context"]?.description).toContain('"skills" (a document by its title)');
      expect(schemaOf(tools, "load_context").properties?.["label"]?.enum).toEqual(["skills"]);
      expect(schemaOf(tools, "search_context").properties?.["label"]?.enum).toEqual(["knowledge"]);
    }));
});

describe("set_context", () => {
  test("writes through, adds below, and says how full the block is", () =>
    newObject().run(async (host) => {
      const provider = writableText();
      const session = Session.create(host).withContext("memory", { maxTokens: 100, provider }).withContext("notes");
      const prompt = await session.freezeSystemPrompt();
      expect(await call(session, "set_context", { label: "memory", content: "abcd".repeat(10) })).toBe(
        "Written to memory. Usage: 10% (10/100 tokens)",
      );
      await call(session, "set_context", { label: "memory", content: "more", action: "append" });
      expect(provider.text()).toBe(`${"abcd".repeat(10)}\nmore`);
      expect(await call(session, "set_context", { label: "notes", content: "abcd" })).toBe("Written to notes. Usage: 2 tokens");
      expect(await session.freezeSystemPrompt()).toBe(prompt);
      expect(session.getContextBlock("memory")?.content).toBe(provider.text());
    }));

  test("answers in words what it can't do", () =>
    newObject().run(async (host) => {
      const session = Session.create(host)
        .withContext("memory", { maxTokens: 5 })
        .withContext("soul", { provider: readonlyText("x") });
      expect(await call(session, "set_context", { label: "none", content: "x" })).toBe('Error: block "none" not found');
      expect(await call(session, "set_context", { label: "soul", content: "x" })).toBe('Error: block "soul" is readonly');
      expect(await call(session, "set_context", { label: "memory", content: "x".repeat(100) })).toBe(
        'Error: block "memory" exceeds maxTokens: 25 > 5',
      );
      expect(await call(session, "set_context", { label: "memory" })).toMatch(/^Error: the arguments do not fit: content/);
      expect(session.getContextBlock("memory")?.content).toBe("");
    }));

  test("gives an entry the key of its title, or one of its content, and the same title replaces", () =>
    newObject().run(async (host) => {
      const provider = skills({});
      const session = Session.create(host).withContext("skills", { provider });
      const set = (content: string, metadata?: object) => call(session, "set_context", { label: "skills", content, metadata });
      expect(await set("one", { title: "API Reference!", description: "All of it" })).toBe('Indexed "api-reference" in skills.');
      expect(await set("two", { title: "Api reference" })).toBe('Indexed "api-reference" in skills.');
      expect(provider.documents["api-reference"]).toEqual({ content: "two", description: "Api reference" });
      await set("A long text that begins the same, and goes on with one thing and ends in A");
      await set("A long text that begins the same, and goes on with one thing and ends in B");
      await set("用户喜欢咖啡");
      await set("用户喜欢茶");
      expect(Object.keys(provider.documents)).toHaveLength(5);
      expect(await session.refreshSystemPrompt()).toContain("- api-reference: Api reference");
    }));
});

describe("load_context", () => {
  test("gives a document, and says in words what there is not", () =>
    newObject().run(async (host) => {
      const session = Session.create(host)
        .withContext("skills", { provider: skills({ guide: "# Guide" }) })
        .withContext("memory");
      expect(await call(session, "load_context", { label: "skills", key: "guide" })).toBe("# Guide");
      expect(await call(session, "load_context", { label: "skills", key: "none" })).toBe("Not found: none");
      expect(await call(session, "load_context", { label: "memory", key: "x" })).toBe(
        'Error: "memory" is not a loadable block. These are: "skills"',
      );
    }));
});

describe("search_context", () => {
  test("finds what was indexed, in any order of words, and says when nothing was found", () =>
    newObject().run(async (host) => {
      const session = Session.create(host)
        .withContext("knowledge", { provider: new AgentSearchProvider(host) })
        .withContext("memory");
      expect(await session.freezeSystemPrompt()).toContain("KNOWLEDGE [searchable]");
      const index = (title: string, content: string) =>
        call(session, "set_context", { label: "knowledge", content, metadata: { title } });
      const search = (query: string) => call(session, "search_context", { label: "knowledge", query });
      expect(await search("anything")).toBe("No results found.");
      expect(await index("Deploys", "The deployment of the shop happens on Fridays.")).toBe('Indexed "deploys" in knowledge.');
      await index("Café", "用户喜欢咖啡");
      expect(await search("Friday deployment")).toBe("[deploys]\nThe deployment of the shop happens on Fridays.");
      expect(await search("咖啡")).toBe("[caf-1ln98yx]\n用户喜欢咖啡");
      await index("Deploys", "Never.");
      expect(await search("Friday")).toBe("No results found.");
      expect(session.getContextBlock("knowledge")?.content).toBe("2 entries indexed.");
      expect(await call(session, "search_context", { label: "memory", query: "x" })).toBe(
        'Error: "memory" is not a searchable block. These are: "knowledge"',
      );
    }));

  test("keeps an object's entries by the block's label, over an eviction", async () => {
    const object = newObject();
    await object.run(async (host) => {
      const session = Session.create(host)
        .withContext("a", { provider: new AgentSearchProvider(host) })
        .withContext("b", { provider: new AgentSearchProvider(host) });
      await call(session, "set_context", { label: "a", content: "of a" });
      await call(session, "set_context", { label: "b", content: "of b" });
    });
    await object.evict();
    await object.run(async (host) => {
      const session = Session.create(host).withContext("a", { provider: new AgentSearchProvider(host) });
      expect(await call(session, "search_context", { label: "a", query: "of" })).toMatch(/^\[of-a-\w+\]\nof a$/);
    });
  });

  test("gives ten results at most", () =>
    newObject().run(async (host) => {
      const provider = new AgentSearchProvider(host);
      provider.init("k");
      for (let index = 0; index < 12; index++) provider.set(`key${index}`, "the same words");
      expect(provider.search("words")?.match(/\[key/g)).toHaveLength(10);
      expect(provider.get()).toBe("12 entries indexed.");
    }));
});

test("a storage that fails is told in words, and nothing of its failure", () =>
  newObject().run(async (host) => {
    const provider = { get: () => null, set: () => Promise.reject(new Error("the password is wrong")) };
    const session = Session.create(host).withContext("memory", { provider });
    const answer = await call(session, "set_context", { label: "memory", content: "x" });
    expect(answer).toMatch(/^Error: /);
    expect(answer).not.toContain("password");
  }));

test("an entry that was written is said to be, though the list of entries can't be read", () =>
  newObject().run(async (host) => {
    let reads = 0;
    const provider = {
      get: () => (++reads === 2 ? Promise.reject(new Error("down")) : `read ${reads}`),
      search: () => null,
      set: () => undefined,
    };
    const session = Session.create(host).withContext("knowledge", { provider });
    expect(await call(session, "set_context", { label: "knowledge", content: "x", metadata: { title: "t" } })).toBe(
      'Indexed "t" in knowledge.',
    );
    expect(await session.freezeSystemPrompt()).toContain("read 3");
  }));

/** Context blocks: what they say, what may be written to them, and where that is kept. */
import { describe, expect, test } from "vitest";
import { AgentContextProvider, AgentSearchProvider, AgentSessionProvider, Session } from "../sessions.ts";
import { entries, readonlyText, skills, writableText } from "../testing/context-providers.ts";
import { codeOf, newObject } from "../testing/in-object.ts";

describe("a block without a provider", () => {
  test("begins empty and writable, and shows what is written at once", () =>
    newObject().run(async (host) => {
      const session = Session.create(host).withContext("memory", { description: "Learned facts", maxTokens: 1100 });
      expect(session.getContextBlock("memory")).toEqual({
        label: "memory",
        description: "Learned facts",
        content: "",
        tokens: 0,
        maxTokens: 1100,
        writable: true,
        isSkill: false,
        isSearchable: false,
      });
      await session.replaceContextBlock("memory", "User likes coffee.");
      await session.appendContextBlock("memory", "User prefers dark roast.");
      await session.appendContextBlock("memory", "\nNo sugar.");
      expect(session.getContextBlock("memory")?.content).toBe("User likes coffee.\nUser prefers dark roast.\nNo sugar.");
    }));

  test("survives an eviction, and every handle reads and writes the same text", async () => {
    const object = newObject();
    await object.run(async (host) => {
      const [one, other] = [Session.create(host).withContext("memory"), Session.create(host).withContext("memory")];
      await Promise.all([
        one.appendContextBlock("memory", "a"),
        other.appendContextBlock("memory", "b"),
        one.appendContextBlock("memory", "c"),
      ]);
      expect(other.getContextBlock("memory")?.content.split("\n").toSorted()).toEqual(["a", "b", "c"]);
    });
    await object.evict();
    await object.run(async (host) => {
      expect(Session.create(host).withContext("memory").getContextBlock("memory")?.content.length).toBe(5);
    });
  });

  test("is its session's own, with forSession before or after withContext", () =>
    newObject().run(async (host) => {
      const before = Session.create(host).forSession("a").withContext("memory");
      const after = Session.create(host).withContext("memory").forSession("b");
      await before.replaceContextBlock("memory", "of a");
      await after.replaceContextBlock("memory", "of b");
      expect(before.getContextBlock("memory")?.content).toBe("of a");
      expect(after.getContextBlock("memory")?.content).toBe("of b");
      expect(Session.create(host).withContext("memory").getContextBlock("memory")?.content).toBe("");
    }));

  test("needs no more of its host than a sql method", () =>
    newObject().run(async (host) => {
      const bare = { sql: host.sql.bind(host) };
      const session = Session.create(bare).withContext("memory").withCachedPrompt();
      await session.withContext("knowledge", { provider: new AgentSearchProvider(bare) }).freezeSystemPrompt();
      const tools = await session.tools();
      await tools["set_context"]?.execute({ label: "memory", content: "a fact" });
      await tools["set_context"]?.execute({ label: "knowledge", content: "an entry" });
      const other = Session.create(host).withContext("memory").withCachedPrompt();
      expect(other.getContextBlock("memory")?.content).toBe("a fact");
      expect(await other.freezeSystemPrompt()).toContain("KNOWLEDGE [searchable]");
      expect(await tools["search_context"]?.execute({ label: "knowledge", query: "entry" })).toContain("an entry");
    }));

  test("stores nothing before it is written", () =>
    newObject().run(async (host) => {
      const session = Session.create(host).withContext("memory");
      await session.freezeSystemPrompt();
      await session.tools();
      expect(host.state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'sp%'").toArray()).toEqual([]);
    }));

  test("holds a text of any characters as it is, except that half a pair becomes whole", () =>
    newObject().run(async (host) => {
      const session = Session.create(host).withContext("ünïcödé 🙂");
      await session.replaceContextBlock("ünïcödé 🙂", "zero \0 quote ' and 用户 \ud800.");
      expect(session.getContextBlock("ünïcödé 🙂")?.content).toBe("zero \0 quote ' and 用户 \ufffd.");
    }));
});

describe("a block with a provider", () => {
  test("is told apart by the provider's methods", () =>
    newObject().run(async (host) => {
      const session = Session.create(host)
        .withContext("soul", { provider: readonlyText("You are helpful.") })
        .withContext("memory", { provider: writableText() })
        .withContext("skills", { provider: skills({}) })
        .withContext("guides", { provider: { get: () => null, load: () => null } })
        .withContext("knowledge", { provider: entries() })
        .withContext("both", { provider: { get: () => null, load: () => null, search: () => null } });
      const kinds = session
        .getContextBlocks()
        .map(({ label, writable, isSkill, isSearchable }) => [label, writable, isSkill, isSearchable]);
      expect(kinds).toEqual([
        ["soul", false, false, false],
        ["memory", true, false, false],
        ["skills", true, true, false],
        ["guides", false, true, false],
        ["knowledge", true, false, true],
        ["both", false, true, true],
      ]);
    }));

  test("is empty until it is loaded: by a prompt, by tools, or by a write", () =>
    newObject().run(async (host) => {
      const session = Session.create(host).withContext("soul", { provider: readonlyText("You are helpful.") });
      expect(session.getContextBlock("soul")).toMatchObject({ content: "", tokens: 0 });
      await session.freezeSystemPrompt();
      expect(session.getContextBlock("soul")).toMatchObject({ content: "You are helpful.", tokens: 4 });
    }));

  test("is written through at once, after what its provider has by then", () =>
    newObject().run(async (host) => {
      const provider = writableText("first");
      const session = Session.create(host).withContext("memory", { provider });
      await Promise.all([session.appendContextBlock("memory", "second"), session.appendContextBlock("memory", "third")]);
      expect(provider.text()).toBe("first\nsecond\nthird");
      await provider.set("from elsewhere");
      await session.appendContextBlock("memory", "fourth");
      expect(session.getContextBlock("memory")?.content).toBe("from elsewhere\nfourth");
    }));

  test("calls init with the label once, before anything else, and goes without", () =>
    newObject().run(async (host) => {
      const kinds = { soul: readonlyText("a"), memory: writableText(), skills: skills({}), knowledge: entries() };
      const session = Session.create(host).withContext("plain", { provider: { get: () => "b" } });
      for (const [label, provider] of Object.entries(kinds)) session.withContext(label, { provider });
      await Promise.all([session.tools(), session.freezeSystemPrompt(), session.tools()]);
      await session.refreshSystemPrompt();
      for (const [label, { calls }] of Object.entries(kinds)) {
        expect(calls[0]).toBe(`init ${label}`);
        expect(calls.filter((call) => call.startsWith("init"))).toHaveLength(1);
        expect(calls.filter((call) => call === "get")).toHaveLength(2);
      }
    }));

  test("can use what init gave it, in get and in set", () =>
    newObject().run(async (host) => {
      let label = "";
      const kept: string[] = [];
      const provider = {
        init: (name: string) => {
          label = name;
        },
        get: () => `of ${label}`,
        search: () => null,
        set: (key: string) => void kept.push(`${label}/${key}`),
      };
      const session = Session.create(host).withContext("knowledge", { provider });
      expect(await session.freezeSystemPrompt()).toContain("of knowledge");
      await (await session.tools())["set_context"]?.execute({ label: "knowledge", content: "x", metadata: { title: "T" } });
      expect(kept).toEqual(["knowledge/t"]);
    }));

  test("that fails rejects what needed it, and is asked again", () =>
    newObject().run(async (host) => {
      let isDown = true;
      const get = () => (isDown ? Promise.reject(new Error("down")) : "up");
      const session = Session.create(host).withContext("soul", { provider: { get } });
      await expect(session.freezeSystemPrompt()).rejects.toThrow("down");
      isDown = false;
      expect(await session.freezeSystemPrompt()).toContain("up");
    }));

  test("may be a text of the object, which sessions share by its label", async () => {
    const object = newObject();
    await object.run(async (host) => {
      const provider = new AgentContextProvider(host, "shared");
      expect(provider.get()).toBeNull();
      const session = new Session(new AgentSessionProvider(host), { context: [{ label: "memory", maxTokens: 500, provider }] });
      expect(session.getContextBlock("memory")).toMatchObject({ content: "", writable: true, maxTokens: 500 });
      await session.replaceContextBlock("memory", "a fact");
      provider.set("another fact");
      expect(new AgentContextProvider(host, "shared").get()).toBe("another fact");
      expect(new AgentContextProvider(host, "other").get()).toBeNull();
    });
    await object.evict();
    await object.run(async (host) => {
      const session = Session.create(host).withContext("m", { provider: new AgentContextProvider(host, "shared") });
      expect(session.getContextBlock("m")?.content).toBe("another fact");
    });
  });
});

describe("what can't be written", () => {
  test("is refused with a code, and nothing of it is kept", () =>
    newObject().run(async (host) => {
      const session = Session.create(host)
        .withContext("soul", { provider: readonlyText("x") })
        .withContext("skills", { provider: skills({}) })
        .withContext("memory", { maxTokens: 10 });
      expect(await codeOf(session.replaceContextBlock("none", "x"))).toBe("unknown_block");
      expect(await codeOf(session.appendContextBlock("none", "x"))).toBe("unknown_block");
      expect(await codeOf(session.replaceContextBlock("soul", "x"))).toBe("readonly_block");
      expect(await codeOf(session.replaceContextBlock("skills", "x"))).toBe("keyed_block");
      await session.replaceContextBlock("memory", "x".repeat(40));
      await expect(session.appendContextBlock("memory", "y")).rejects.toThrow("exceeds maxTokens: 11 > 10");
      expect(await codeOf(session.replaceContextBlock("memory", "x".repeat(41)))).toBe("over_limit");
      expect(session.getContextBlock("memory")).toMatchObject({ content: "x".repeat(40), tokens: 10 });
    }));

  test("is more than a row holds", () =>
    newObject().run(async (host) => {
      const session = Session.create(host).withContext("memory");
      expect(await codeOf(session.replaceContextBlock("memory", "x".repeat(2_000_000)))).toBe("over_limit");
    }));

  test("is a label that is no text, or a limit that is none", () =>
    newObject().run(async (host) => {
      expect(await codeOf(() => Session.create(host).withContext(""))).toBe("invalid_argument");
      expect(await codeOf(() => Session.create(host).withContext("\ud800"))).toBe("invalid_argument");
      expect(await codeOf(() => Session.create(host).withContext("a", { maxTokens: 0 }))).toBe("invalid_argument");
    }));
});

describe("blocks that come and go", () => {
  test("are added once, loaded at once, and removed with their text kept", () =>
    newObject().run(async (host) => {
      const session = Session.create(host).withContext("memory");
      const prompt = await session.freezeSystemPrompt();
      await session.addContext("notes", { description: "From extension X", maxTokens: 500 });
      expect(await codeOf(session.addContext("notes"))).toBe("duplicate_block");
      expect(await codeOf(session.addContext("memory"))).toBe("duplicate_block");
      await session.replaceContextBlock("notes", "noted");
      expect(await session.freezeSystemPrompt()).toBe(prompt);
      expect(await session.refreshSystemPrompt()).toContain("NOTES (From extension X)");
      expect([session.removeContext("notes"), session.removeContext("notes")]).toEqual([true, false]);
      expect(session.getContextBlock("notes")).toBeNull();
      expect(await session.freezeSystemPrompt()).toContain("NOTES");
      expect(await session.refreshSystemPrompt()).not.toContain("NOTES");
      expect(await session.addContext("notes")).toMatchObject({ content: "noted" });
    }));

  test("are not there when they could not be loaded", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      const provider = { get: () => Promise.reject(new Error("down")) };
      await expect(session.addContext("soul", { provider })).rejects.toThrow("down");
      expect(session.getContextBlocks()).toEqual([]);
    }));

  test("may be declared after the session was used, and the last declaration holds", () =>
    newObject().run(async (host) => {
      const session = Session.create(host).withContext("a", { description: "old" }).withContext("b");
      await session.tools();
      session.withContext("a", { description: "new" }).withContext("c");
      expect(session.getContextBlocks().map(({ label, description }) => [label, description])).toEqual([
        ["a", "new"],
        ["b", undefined],
        ["c", undefined],
      ]);
      expect(await session.freezeSystemPrompt()).toContain("A (new)");
    }));

  test("lose no write, and call init no second time, when they are declared again by each request", () =>
    newObject().run(async (host) => {
      const provider = writableText();
      const session = Session.create(host);
      const write = (line: string) => session.withContext("memory", { provider }).appendContextBlock("memory", line);
      await Promise.all(["a", "b", "c"].map(write));
      expect(provider.text()).toBe("a\nb\nc");
      expect(provider.calls.filter((call) => call.startsWith("init")).length).toBe(1);
    }));
});

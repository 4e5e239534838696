/** The system prompt: rendered once, the same until it is refreshed, and kept where it should be. */
import { describe, expect, test } from "vitest";
import { AgentContextProvider, AgentSessionProvider, Session } from "../sessions.ts";
import { entries, readonlyText, skills, writableText } from "../testing/context-providers.ts";
import { appendAll, codeOf, newObject, talk, text } from "../testing/in-object.ts";

const RULE = "═".repeat(46);

describe("the prompt", () => {
  test("is a ruled section a block in their order, plain text with tags", () =>
    newObject().run(async (host) => {
      const session = Session.create(host)
        .withContext("soul", { description: "Identity", provider: readonlyText("You are a helpful assistant.") })
        .withContext("empty", { provider: readonlyText(null) })
        .withContext("memory", { description: "Learned facts", maxTokens: 1100, provider: writableText("User likes coffee.") })
        .withContext("notes", { provider: writableText(null) })
        .withContext("knowledge", { description: "Searchable knowledge base", provider: entries() })
        .withContext("skills", { provider: skills({ "api-ref": "…" }) })
        .withContext("none", { provider: skills({}) });
      expect(await session.freezeSystemPrompt()).toBe(
        [
          `${RULE}\nSOUL (Identity) [readonly]\n${RULE}\nYou are a helpful assistant.`,
          `${RULE}\nMEMORY (Learned facts) [0% — 5/1100 tokens] [writable]\n${RULE}\nUser likes coffee.`,
          `${RULE}\nNOTES [writable]\n${RULE}\n`,
          `${RULE}\nKNOWLEDGE (Searchable knowledge base) [searchable]\n${RULE}\n`,
          `${RULE}\nSKILLS [loadable]\n${RULE}\n- api-ref`,
          `${RULE}\nNONE [loadable]\n${RULE}\n`,
        ].join("\n\n"),
      );
    }));

  test("stays as it is whatever is written, until it is refreshed", () =>
    newObject().run(async (host) => {
      const session = Session.create(host).withContext("memory");
      const frozen = await session.freezeSystemPrompt();
      await session.replaceContextBlock("memory", "User likes coffee.");
      expect(await session.freezeSystemPrompt()).toBe(frozen);
      const refreshed = await session.refreshSystemPrompt();
      expect(refreshed).toContain("User likes coffee.");
      expect(await session.freezeSystemPrompt()).toBe(refreshed);
    }));

  test("is lost with the memory that froze it, when nothing keeps it", async () => {
    const object = newObject();
    await object.run(async (host) => {
      const session = Session.create(host).withContext("memory");
      await session.freezeSystemPrompt();
      await session.replaceContextBlock("memory", "a fact");
    });
    await object.evict();
    await object.run(async (host) => {
      expect(await Session.create(host).withContext("memory").freezeSystemPrompt()).toContain("a fact");
    });
  });
});

describe("a cached prompt", () => {
  test("outlives an eviction, one for each session, and asks no provider again", async () => {
    const object = newObject();
    const soul = readonlyText("first");
    const frozen = await object.run(async (host) => {
      const other = Session.create(host).forSession("b").withContext("b").withCachedPrompt();
      await other.freezeSystemPrompt();
      return Session.create(host).withCachedPrompt().withContext("soul", { provider: soul }).freezeSystemPrompt();
    });
    await object.evict();
    const changed = readonlyText("second");
    await object.run(async (host) => {
      const session = Session.create(host).withContext("soul", { provider: changed }).withCachedPrompt();
      expect(await session.freezeSystemPrompt()).toBe(frozen);
      expect(changed.calls).toEqual([]);
      expect(await session.refreshSystemPrompt()).toContain("second");
    });
    await object.evict();
    await object.run(async (host) => {
      expect(await Session.create(host).withCachedPrompt().freezeSystemPrompt()).toContain("second");
    });
  });

  test("may be empty, which is a prompt too", async () => {
    const object = newObject();
    expect(await object.run(async (host) => Session.create(host).withCachedPrompt().freezeSystemPrompt())).toBe("");
    await object.evict();
    await object.run(async (host) => {
      const session = Session.create(host)
        .withCachedPrompt()
        .withContext("soul", { provider: readonlyText("x") });
      expect(await session.freezeSystemPrompt()).toBe("");
    });
    const store = writableText("");
    await object.run(async (host) => {
      const session = Session.create(host)
        .withCachedPrompt(store)
        .withContext("soul", { provider: readonlyText("x") });
      expect(await session.freezeSystemPrompt()).toBe("");
    });
  });

  test("is one value however many freeze it first, on one handle or on several", () =>
    newObject().run(async (host) => {
      let reads = 0;
      const provider = { get: async () => `read ${++reads}` };
      const make = () => Session.create(host).withContext("soul", { provider }).withCachedPrompt();
      const [one, other] = [make(), make()];
      const prompts = await Promise.all([one.freezeSystemPrompt(), one.freezeSystemPrompt(), other.freezeSystemPrompt()]);
      expect(new Set(prompts).size).toBe(1);
      expect(await make().freezeSystemPrompt()).toBe(prompts[0]);
    }));

  test("is kept in a provider of the caller's, of the object's among them", () =>
    newObject().run(async (host) => {
      const store = writableText();
      const session = Session.create(host).withContext("memory").withCachedPrompt(store);
      const prompts = await Promise.all([session.freezeSystemPrompt(), session.freezeSystemPrompt()]);
      expect(prompts).toEqual([store.text(), store.text()]);
      expect(store.calls.filter((call) => call.startsWith("set"))).toHaveLength(1);
      await session.replaceContextBlock("memory", "a fact");
      await session.refreshSystemPrompt();
      expect(store.text()).toContain("a fact");
      const own = new AgentContextProvider(host, "_prompt");
      const options = { context: [{ label: "memory" }], promptStore: own };
      await new Session(new AgentSessionProvider(host), options).freezeSystemPrompt();
      expect(own.get()).toBe(store.text());
    }));

  test("stays as it was when a provider fails in a refresh", () =>
    newObject().run(async (host) => {
      let isDown = false;
      const get = () => (isDown ? Promise.reject(new Error("down")) : "up");
      const session = Session.create(host).withContext("soul", { provider: { get } }).withCachedPrompt();
      const frozen = await session.freezeSystemPrompt();
      isDown = true;
      await expect(session.refreshSystemPrompt()).rejects.toThrow("down");
      await session.clearMessages();
      expect(await session.freezeSystemPrompt()).toBe(frozen);
    }));
});

describe("a frozen prompt is rendered anew", () => {
  const compacting = (session: Session) =>
    session.onCompaction(() => ({ fromMessageId: "m0", toMessageId: "m1", summary: "summary" }));

  test("by a compaction, and by clearing the messages", () =>
    newObject().run(async (host) => {
      const session = compacting(Session.create(host).withContext("memory").withCachedPrompt());
      await appendAll(session, talk(4));
      await session.freezeSystemPrompt();
      await session.replaceContextBlock("memory", "at the compaction");
      await session.compact();
      expect(await session.freezeSystemPrompt()).toContain("at the compaction");
      await session.replaceContextBlock("memory", "at the clearing");
      await session.clearMessages();
      expect(await session.freezeSystemPrompt()).toContain("at the clearing");
      expect(session.getContextBlock("memory")?.content).toBe("at the clearing");
    }));

  test("not by one that found nothing to do; and where nothing is frozen, nothing becomes so", () =>
    newObject().run(async (host) => {
      const store = writableText();
      const session = Session.create(host).withContext("memory").withCachedPrompt(store);
      await appendAll(session, talk(4));
      await compacting(session).compact();
      await session.clearMessages();
      expect(store.text()).toBeNull();
      const frozen = await session.freezeSystemPrompt();
      await session.replaceContextBlock("memory", "a fact");
      await session.onCompaction(() => null).compact();
      expect(await session.freezeSystemPrompt()).toBe(frozen);
    }));
});

describe("a reminder", () => {
  test("tells of blocks that remind, as they are now, until the prompt says the same", () =>
    newObject().run(async (host) => {
      const time = writableText("Monday");
      const session = Session.create(host)
        .withContext("time", { provider: time, whenChanged: "remind" })
        .withContext("memory", { whenChanged: "wait" });
      expect(await session.reminder()).toBeNull();
      const frozen = await session.freezeSystemPrompt();
      expect(await session.reminder()).toBeNull();
      await session.replaceContextBlock("memory", "a fact");
      expect(await session.reminder()).toBeNull();
      await time.set("Tuesday");
      const reminder = await session.reminder();
      expect(reminder).toContain("TIME [writable]");
      expect(reminder).toContain("Tuesday");
      expect(reminder).not.toContain("a fact");
      expect(await session.reminder()).toBe(reminder);
      expect(await session.freezeSystemPrompt()).toBe(frozen);
      await session.refreshSystemPrompt();
      expect(await session.reminder()).toBeNull();
    }));
});

describe("compactAfter and the prompt", () => {
  const seeing = (session: Session) => {
    const seen: { systemPrompt: string; contents: string[] }[] = [];
    session
      .onCompaction(() => null)
      .compactAfter(1_000, {
        tokenCounter: ({ systemPrompt, contextBlocks }) => {
          seen.push({ systemPrompt, contents: contextBlocks.map(({ content }) => content) });
          return 0;
        },
      });
    return seen;
  };

  test("a counter sees messages, prompt and loaded blocks, and nothing is frozen by it", () =>
    newObject().run(async (host) => {
      const store = writableText();
      const session = Session.create(host)
        .withContext("soul", { provider: readonlyText("helpful") })
        .withCachedPrompt(store);
      const seen = seeing(session);
      await session.appendMessage(text("m1"));
      expect(seen).toEqual([{ systemPrompt: `${RULE}\nSOUL [readonly]\n${RULE}\nhelpful`, contents: ["helpful"] }]);
      expect(store.text()).toBeNull();
    }));

  test("a counter sees the frozen prompt beside blocks that were loaded for it", async () => {
    const object = newObject();
    const frozen = await object.run(async (host) =>
      Session.create(host)
        .withContext("soul", { provider: readonlyText("old") })
        .withCachedPrompt()
        .freezeSystemPrompt(),
    );
    await object.evict();
    await object.run(async (host) => {
      const session = Session.create(host)
        .withContext("soul", { provider: readonlyText("new") })
        .withCachedPrompt();
      const seen = seeing(session);
      await session.appendMessage(text("m1"));
      expect(seen).toEqual([{ systemPrompt: frozen, contents: ["new"] }]);
    });
  });

  test("the estimate counts the prompt, frozen or not, and freezes none", () =>
    newObject().run(async (host) => {
      const store = writableText();
      const calls: number[] = [];
      const session = Session.create(host)
        .withContext("soul", { provider: readonlyText("abcd".repeat(200)) })
        .withCachedPrompt(store)
        .onCompaction((messages) => {
          calls.push(messages.length);
          return null;
        })
        .compactAfter(100);
      await session.appendMessage(text("m1"));
      expect(calls).toEqual([1]);
      expect(store.text()).toBeNull();
      await store.set("short");
      await appendAll(session, talk(4, 10));
      expect(calls).toEqual([1]);
    }));

  test("a provider that fails costs a compaction, not the message", () =>
    newObject().run(async (host) => {
      const heard: unknown[] = [];
      const session = Session.create(host)
        .withContext("soul", { provider: { get: () => Promise.reject(new Error("down")) } })
        .onCompaction(() => null)
        .compactAfter(1)
        .onCompactionError((error) => void heard.push(error));
      expect(await session.appendMessage(text("m1"))).toMatchObject({ inserted: true });
      expect(heard).toMatchObject([{ message: "down" }]);
      expect(await codeOf(session.freezeSystemPrompt())).toContain("down");
    }));
});

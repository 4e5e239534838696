/** What is told of writes, and lists that follow them. */
import { describe, expect, test } from "vitest";
import { type SessionEvent, type SessionMessage, Sessions } from "./sessions.ts";
import { idsOf, newObject, talk, text, textOf } from "./testing/in-object.ts";

const told = (event: SessionEvent): string => {
  const { type, sessionId } = event;
  if (type === "append") return `${sessionId}:append ${event.message.id} below ${event.parentId} ${event.inserted}`;
  if (type === "update") return `${sessionId}:update ${event.message.id}`;
  if (type === "import") return `${sessionId}:import ${event.message.id} below ${event.parentId}`;
  if (type === "delete") return `${sessionId}:delete ${event.messageIds.join()}`;
  if (type === "clear") return `${sessionId}:clear`;
  return `${sessionId}:${type} ${event.record.summary}`;
};

describe("subscribe", () => {
  test("tells every write of all sessions in order, and nothing that wrote nothing", () =>
    newObject().run(async (host) => {
      const sessions = new Sessions(host);
      const heard: string[] = [];
      const stop = sessions.subscribe((event) => {
        heard.push(told(event));
      });
      const [a, b] = [sessions.session("a"), sessions.session("b")];
      await a.appendMessage(text("m1"));
      await a.appendMessage(text("m1"));
      await b.appendMessage(text("m1"));
      await a.updateMessage(text("m1"));
      await a.updateMessage(text("m1", "other"));
      await a.updateMessage(text("none"));
      await a.importMessage(text("m2"), { parentId: "m1", createdAt: 1 });
      await a.importMessage(text("m2"), { parentId: "m1", createdAt: 1 });
      await a.addCompaction("by hand", "m1", "m2");
      await a.onCompaction(() => ({ fromMessageId: "m1", toMessageId: "m2", summary: "found" })).compact();
      await a.deleteMessages(["m2", "none"]);
      await a.deleteMessages(["none"]);
      await a.clearMessages();
      stop();
      await a.appendMessage(text("m3"));
      expect(heard).toEqual([
        "a:append m1 below null true",
        "a:append m1 below null false",
        "b:append m1 below null true",
        "a:update m1",
        "a:import m2 below m1",
        "a:compaction by hand",
        "a:compact found",
        "a:delete m2",
        "a:clear",
      ]);
    }));

  test("comes after the write is durable, is waited for, and fails nothing", () =>
    newObject().run(async (host) => {
      const sessions = new Sessions(host);
      const session = sessions.session();
      const seen: unknown[] = [];
      sessions.subscribe(() => {
        throw new Error("a subscriber that fails");
      });
      sessions.subscribe(async (event) => {
        const stored = event.type === "append" ? await session.getMessage(event.message.id) : null;
        await Promise.resolve();
        seen.push(stored?.id);
      });
      expect(await session.appendMessage(text("m1"))).toMatchObject({ inserted: true });
      expect(seen).toEqual(["m1"]);
    }));

  test("may write itself", () =>
    newObject().run(async (host) => {
      const sessions = new Sessions(host);
      sessions.subscribe(async (event) => {
        if (event.sessionId === "a" && event.type === "append")
          await sessions.session("log").appendMessage(text(`of-${event.message.id}`));
      });
      await sessions.session("a").appendMessage(text("m1"));
      expect(idsOf(await sessions.session("log").getHistory())).toEqual(["of-m1"]);
    }));
});

describe("mirror", () => {
  test("follows appends, updates, deletions and clearing of its session", () =>
    newObject().run(async (host) => {
      const sessions = new Sessions(host);
      const session = sessions.session();
      let messages: readonly SessionMessage[] = [];
      const stop = session.mirror({
        get: () => messages,
        set: (next) => {
          messages = next;
        },
      });
      for (const message of talk(3)) await session.appendMessage(message);
      await sessions.session("other").appendMessage(text("x"));
      expect(messages).toEqual(await session.getHistory());
      await session.updateMessage(text("m1", "other"));
      await session.deleteMessages(["m0"]);
      expect(messages).toEqual(await session.getHistory());
      await session.appendMessage(text("m1", "twice"));
      expect(messages.map(textOf)[0]).toBe("other");
      await session.clearMessages();
      expect(messages).toEqual([]);
      stop();
      await session.appendMessage(text("late"));
      expect(messages).toEqual([]);
    }));

  test("holds what transform makes, and leaves to intercept what it takes", () =>
    newObject().run(async (host) => {
      const session = new Sessions(host).session();
      let list: readonly { id: string; words: number }[] = [];
      const applied: string[] = [];
      session.mirror({
        get: () => list,
        set: (next: { id: string; words: number }[]) => {
          list = next;
        },
        transform: (message) => ({ id: message.id, words: String(textOf(message)).split(" ").length }),
        intercept: async (event) => {
          if (event.type !== "compaction") return event.type === "delete";
          const history = await session.getHistory();
          list = history.map(({ id }) => ({ id, words: 0 }));
          return true;
        },
        onApplied: ({ type }) => applied.push(type),
      });
      await session.appendMessage(text("m0", "two words"));
      await session.appendMessage(text("m1"));
      await session.deleteMessages(["m1"]);
      expect(list).toEqual([
        { id: "m0", words: 2 },
        { id: "m1", words: 1 },
      ]);
      const { id } = await session.addCompaction("a summary", "m0", "m0");
      expect(list).toEqual([{ id: `compaction_${id}`, words: 0 }]);
      expect(applied).toEqual(["append", "append"]);
    }));
});

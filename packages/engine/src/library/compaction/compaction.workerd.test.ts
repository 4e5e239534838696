/** Compaction of a session: by hand, by a function, by itself. */
import { describe, expect, test, vi } from "vitest";
import { type CompactFunction, Session, type SessionMessage, createCompactFunction, isCompactionMessage } from "../sessions.ts";
import { appendAll, codeOf, newObject, talk, text, textOf } from "../testing/in-object.ts";

/** What a history shows: ids, and the text of what stands for a range. */
const shown = (messages: readonly SessionMessage[]): unknown[] =>
  messages.map((message) => (isCompactionMessage(message) ? textOf(message) : message.id));

const range = (fromMessageId: string, toMessageId: string, summary = "found") => ({ fromMessageId, toMessageId, summary });

describe("addCompaction", () => {
  test("stands for its range, with an id and a time of its own, and the originals stay", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(5));
      const record = await session.addCompaction("a summary", "m1", "m3");
      expect(await session.getCompactions()).toEqual([record]);
      expect(record).toMatchObject({ summary: "a summary", fromMessageId: "m1", toMessageId: "m3" });
      const history = await session.getHistory();
      expect(shown(history)).toEqual(["m0", "a summary", "m4"]);
      expect(history[1]).toMatchObject({
        id: `compaction_${record.id}`,
        role: "assistant",
        createdAt: new Date(record.createdAt),
      });
      expect(await session.getHistory()).toEqual(history);
      expect((await session.getMessage("m2"))?.id).toBe("m2");
      expect(await session.getPathLength()).toBe(5);
      expect(shown((await session.getRecentHistory(100_000)).messages)).toEqual(["m0", "a summary", "m4"]);
      expect(shown(await session.getHistory({ newestFirst: true }))).toEqual(["m4", "a summary", "m0"]);
    }));

  test("is superseded by one that covers more, never by one that covers less", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(10));
      await session.addCompaction("one", "m1", "m3");
      await session.addCompaction("two", "m1", "m5");
      await session.addCompaction("less", "m1", "m2");
      expect(shown(await session.getHistory())).toEqual(["m0", "two", "m6", "m7", "m8", "m9"]);
      expect((await session.getCompactions()).length).toBe(3);
    }));

  test("refuses ends that are not of one path in order, and an empty text", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(4));
      await session.appendMessage(text("b"), "m1");
      expect(await codeOf(session.addCompaction("s", "none", "m2"))).toBe("unknown_message");
      expect(await codeOf(session.addCompaction("s", "m1", "none"))).toBe("unknown_message");
      expect(await codeOf(session.addCompaction("s", "m3", "m1"))).toBe("invalid_range");
      expect(await codeOf(session.addCompaction("s", "m2", "b"))).toBe("invalid_range");
      expect(await codeOf(session.addCompaction(" ", "m1", "m2"))).toBe("invalid_summary");
      expect(await session.getCompactions()).toEqual([]);
    }));

  test("of one branch does not show on another", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(4));
      await session.appendMessage(text("b"), "m1");
      await session.addCompaction("of m", "m1", "m3");
      expect(shown(await session.getHistory())).toEqual(["m0", "m1", "b"]);
      expect(shown(await session.getHistory("m3"))).toEqual(["m0", "of m"]);
    }));

  test("goes with a message that is deleted: its text may say what it was", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(5));
      await session.addCompaction("a summary", "m1", "m3");
      await session.deleteMessages(["m2"]);
      expect(await session.getCompactions()).toEqual([]);
      expect(shown(await session.getHistory())).toEqual(["m0", "m1", "m3", "m4"]);
    }));
});

describe("compact", () => {
  test("needs a function, stores what it finds, and nothing when it finds nothing", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(6));
      expect(await codeOf(session.compact())).toBe("no_compaction_function");
      expect(await session.onCompaction(() => null).compact()).toBeNull();
      expect(await session.onCompaction(() => range("m1", "m2", "  ")).compact()).toBeNull();
      expect(await session.getCompactions()).toEqual([]);
      expect(await session.onCompaction(() => range("m1", "m3")).compact()).toEqual(range("m1", "m3"));
      expect(await session.getCompactions()).toMatchObject([{ ...range("m1", "m3") }]);
      await expect(session.onCompaction(() => Promise.reject(new Error("the model"))).compact()).rejects.toThrow("the model");
    }));

  test("goes on from the summary right before, and swallows nothing that no summary is of", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(12));
      await session.onCompaction(() => range("m1", "m3", "one")).compact();
      expect(await session.onCompaction(() => range("m4", "m6", "two")).compact()).toEqual(range("m1", "m6", "two"));
      expect(shown(await session.getHistory())).toEqual(["m0", "two", "m7", "m8", "m9", "m10", "m11"]);
      expect(await session.onCompaction(() => range("m8", "m9", "apart")).compact()).toEqual(range("m8", "m9", "apart"));
      expect(shown(await session.getHistory())).toEqual(["m0", "two", "m7", "apart", "m10", "m11"]);
    }));

  test("takes the id of what stands for a range as that range", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(8));
      const { id } = await session.addCompaction("one", "m1", "m3");
      const compact: CompactFunction = (messages) => {
        expect(shown(messages)).toEqual(["m0", "one", "m4", "m5", "m6", "m7"]);
        return range(`compaction_${id}`, "m5", "both");
      };
      expect(await session.onCompaction(compact).compact()).toEqual(range("m1", "m5", "both"));
    }));

  test("compacts a branch without making it the active one", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(4));
      await session.appendMessage(text("b"), "m0");
      await session.onCompaction(() => range("m1", "m2")).compact("m3");
      expect(shown(await session.getHistory())).toEqual(["m0", "b"]);
      expect(shown(await session.getHistory("m3"))).toEqual(["m0", "found", "m3"]);
      expect(await codeOf(session.compact("none"))).toBe("unknown_leaf");
    }));

  test("refuses ends that are not on the path, and a range that changed meanwhile", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(6));
      await session.appendMessage(text("b"), "m0");
      expect(await codeOf(session.onCompaction(() => range("m1", "m2")).compact())).toBe("invalid_range");
      expect(await codeOf(session.onCompaction(() => range("none", "m2")).compact("m5"))).toBe("unknown_message");
      const editing: CompactFunction = async () => {
        await session.updateMessage(text("m2", "other"));
        return range("m1", "m3");
      };
      expect(await codeOf(session.onCompaction(editing).compact("m5"))).toBe("range_changed");
      expect(await session.getCompactions()).toEqual([]);
    }));
});

describe("compactAfter", () => {
  const counting = (result: (messages: readonly SessionMessage[]) => ReturnType<CompactFunction>) => {
    const calls: number[] = [];
    const compact: CompactFunction = (messages) => {
      calls.push(messages.length);
      return result(messages);
    };
    return { calls, compact };
  };
  const firstTwo = (messages: readonly SessionMessage[]) => range(messages[0]?.id ?? "", messages[1]?.id ?? "");

  test("compacts when an append passes the threshold, not at it, and not for an append that stored nothing", () =>
    newObject().run(async (host) => {
      const { calls, compact } = counting(firstTwo);
      const session = Session.create(host).onCompaction(compact).compactAfter(40);
      await appendAll(session, talk(4));
      await session.appendMessage(text("m3"));
      expect(calls).toEqual([]);
      await session.appendMessage(text("m4"));
      expect(calls).toEqual([5]);
      expect(shown(await session.getHistory())).toEqual(["found", "m2", "m3", "m4"]);
    }));

  test("does nothing without a threshold or without a function", () =>
    newObject().run(async (host) => {
      const { calls, compact } = counting(firstTwo);
      await appendAll(Session.create(host).onCompaction(compact), talk(5));
      await appendAll(Session.create(host).forSession("b").compactAfter(1), talk(5));
      expect(calls).toEqual([]);
    }));

  test("never fails the append: the handler hears of it, and its own failure is nobody's", () =>
    newObject().run(async (host) => {
      const heard: unknown[] = [];
      const session = Session.create(host)
        .onCompaction(() => Promise.reject(new Error("the model")))
        .compactAfter(1)
        .onCompactionError((error) => {
          heard.push(error);
          throw new Error("the handler");
        });
      expect(await session.appendMessage(text("m1"))).toMatchObject({ inserted: true });
      expect(heard).toMatchObject([{ message: "the model" }]);
      const other = Session.create(host)
        .forSession("b")
        .onCompaction(() => range("x", "y"))
        .compactAfter(1);
      expect(await other.onCompactionError((error) => void heard.push(error)).appendMessage(text("m1"))).toMatchObject({
        inserted: true,
      });
      expect(heard[1]).toMatchObject({ code: "unknown_message" });
    }));

  test("runs once however many appends pass the threshold together", () =>
    newObject().run(async (host) => {
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const { calls, compact } = counting(async (messages) => {
        await held;
        return firstTwo(messages);
      });
      const session = Session.create(host).onCompaction(compact).compactAfter(1);
      const appends = talk(5).map((message) => session.appendMessage(message));
      const other = Session.create(host).onCompaction(compact);
      await vi.waitFor(() => expect(calls.length).toBe(1));
      const byHand = other.compact();
      release();
      await Promise.all([...appends, byHand]);
      expect(calls.length).toBe(1);
      expect((await session.getCompactions()).length).toBe(1);
    }));

  test("leaves a history alone for a while that it could not make smaller", () =>
    newObject().run(async (host) => {
      const { calls, compact } = counting(() => null);
      const session = Session.create(host).onCompaction(compact).compactAfter(1);
      await appendAll(session, talk(10));
      expect(calls.length).toBeLessThanOrEqual(3);
    }));

  test("counts with a counter that sees everything, and takes what is no number for 0", () =>
    newObject().run(async (host) => {
      const { calls, compact } = counting(() => null);
      const seen: unknown[] = [];
      const answers = [Number.NaN, -5, Number.POSITIVE_INFINITY, 99.5, 100.5];
      const session = Session.create(host)
        .onCompaction(compact)
        .compactAfter(100, {
          tokenCounter: async ({ messages, systemPrompt, contextBlocks }) => {
            seen.push([messages.length, systemPrompt, contextBlocks]);
            return answers[messages.length - 1] ?? 0;
          },
        });
      await appendAll(session, talk(5));
      expect(seen.slice(0, 2)).toEqual([
        [1, "", []],
        [2, "", []],
      ]);
      expect(calls).toEqual([5]);
    }));

  test("hands its counter to the function, which it decides with too", () =>
    newObject().run(async (host) => {
      const session = Session.create(host)
        .onCompaction(createCompactFunction({ summarize: () => "short" }))
        .compactAfter(50_000, { tokenCounter: ({ messages }) => messages.length * 6_000 });
      await appendAll(session, talk(9));
      expect(shown(await session.getHistory())).toEqual(["m0", "m1", "m2", "short", "m6", "m7", "m8"]);
    }));
});

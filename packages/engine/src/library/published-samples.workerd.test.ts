/**
 * Uses of the published API as its documents show them, of both generations: the same calls in the same order,
 * with this library's import and constructor. Whatever one of them needs must go on compiling and running.
 */
import { describe, expect, test } from "vitest";
import {
  AgentSessionProvider,
  Session,
  SessionManager,
  type SessionMessage,
  type SessionProvider,
  Sessions,
  createCompactFunction,
  truncateOlderMessages,
} from "./sessions.ts";
import { idsOf, newObject, talk, text, textOf } from "./testing/in-object.ts";

const generateText = async ({ prompt }: { prompt: string }) => ({ text: `of ${prompt.length} characters` });
const estimateWithOwnTokenizer = ({
  messages,
}: {
  messages: SessionMessage[];
  systemPrompt?: string;
  contextBlocks?: readonly object[];
}) => messages.length * 1_000;

describe("the experimental generation", () => {
  test("builder, writes, reads, branches", () =>
    newObject().run(async (host) => {
      const session = Session.create(host)
        .onCompaction(
          createCompactFunction({
            summarize: (prompt) => generateText({ prompt }).then((reply) => reply.text),
            protectHead: 3,
            tailTokenBudget: 20_000,
            minTailMessages: 2,
            tokenCounter: async (messages) => estimateWithOwnTokenizer({ messages }),
          }),
        )
        .compactAfter(100_000, {
          tokenCounter: async ({ messages, systemPrompt, contextBlocks }) =>
            estimateWithOwnTokenizer({ messages, systemPrompt, contextBlocks }),
        })
        .onCompactionError((error) => {
          throw error;
        });
      await session.appendMessage(text("msg-1"));
      await session.appendMessage(text("msg-2", "msg-2", "assistant"), "msg-1");
      await session.updateMessage(text("msg-2", "changed", "assistant"));
      await session.appendMessage(text("msg-3", "msg-3", "assistant"), "msg-1");
      expect(idsOf(await session.getBranches("msg-1"))).toEqual(["msg-2", "msg-3"]);
      expect((await session.getHistory("msg-2")).map(textOf)).toEqual(["msg-1", "changed"]);
      expect((await session.getMessage("msg-1"))?.id).toBe("msg-1");
      expect((await session.getLatestLeaf())?.id).toBe("msg-3");
      expect(await session.getPathLength()).toBe(2);
      await session.addCompaction("Summary of messages", "msg-1", "msg-3");
      expect((await session.getCompactions()).length).toBe(1);
      expect(await session.compact()).toBeNull();
      await session.deleteMessages(["msg-1", "msg-2"]);
      await session.clearMessages();
      expect(await session.getHistory()).toEqual([]);
    }));

  test("the direct constructor, and forSession for several", () =>
    newObject().run(async (host) => {
      const session = new Session(new AgentSessionProvider(host));
      await session.appendMessage(text("m1"));
      await Session.create(host).forSession("another").appendMessage(text("m1", "of another"));
      expect((await session.getHistory()).map(textOf)).toEqual(["m1"]);
    }));

  test("a storage that is an object of twelve functions", async () => {
    const kept: SessionMessage[] = [];
    const storage: SessionProvider = {
      async getMessage(id) {
        return kept.find((message) => message.id === id) ?? null;
      },
      async getHistory(_leafId) {
        return kept;
      },
      async getLatestLeaf() {
        return kept.at(-1) ?? null;
      },
      async getBranches(_messageId) {
        return [];
      },
      async getPathLength(_leafId) {
        return kept.length;
      },
      async appendMessage(message, _parentId) {
        kept.push(message);
      },
      async updateMessage(_message) {},
      async deleteMessages(_messageIds) {},
      async clearMessages() {
        kept.length = 0;
      },
      async addCompaction(summary, fromMessageId, toMessageId) {
        return { id: "1", summary, fromMessageId, toMessageId, createdAt: "" };
      },
      async getCompactions() {
        return [];
      },
      async searchMessages(query, limit) {
        const found = kept.filter((message) => String(textOf(message)).includes(query)).slice(0, limit);
        return found.map(({ id, role }) => ({ id, role, content: query }));
      },
    };
    const session = Session.create(storage);
    await session.appendMessage(text("m1", "deployment on Friday"));
    expect(await session.search("Friday", { limit: 10 })).toEqual([{ id: "m1", role: "user", content: "Friday" }]);
    expect(idsOf(await session.getHistory())).toEqual(["m1"]);
  });

  test("the manager", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host)
        .onCompaction(createCompactFunction({ summarize: (prompt) => generateText({ prompt }).then((reply) => reply.text) }))
        .compactAfter(100_000);
      const info = await manager.create("My Chat");
      const other = await manager.create("My Chat", { parentSessionId: info.id, model: "a-model", source: "web" });
      expect((await manager.get(other.id))?.source).toBe("web");
      await manager.rename(info.id, "New Name");
      await manager.append(info.id, text("m1"), null);
      await manager.upsert(info.id, text("m1", "changed"), undefined);
      await manager.appendAll(info.id, talk(3, 10, "n"));
      expect(await manager.getMessageCount(info.id)).toBe(4);
      expect(idsOf(await manager.getHistory(info.id, "m1"))).toEqual(["m1"]);
      const forked = await manager.fork(info.id, "m1", "Forked Chat");
      expect(forked.parent_session_id).toBe(info.id);
      await manager.addCompaction(info.id, "a summary", "m1", "n0");
      expect((await manager.getCompactions(info.id)).length).toBe(1);
      const continuation = await manager.compactAndSplit(info.id, "a summary", "Continued Chat");
      expect((await manager.get(info.id))?.end_reason).toBe("compaction");
      await manager.addUsage(continuation.id, 10, 5, 0.01);
      await manager.deleteMessages(info.id, ["m1"]);
      await manager.clearMessages(info.id);
      await manager.delete(info.id);
      expect((await manager.list()).length).toBe(3);
      expect(manager.getSession(forked.id)).toBe(manager.getSession(forked.id));
    }));

  test("older messages are shortened for a model, on a copy", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await session.appendMessage(text("long", "x".repeat(10_001)));
      for (const id of ["m1", "m2", "m3", "m4"]) await session.appendMessage(text(id));
      const history = await session.getHistory();
      const truncated: SessionMessage[] = truncateOlderMessages(history);
      expect(truncated.map((message) => message.parts[0]?.text?.length)).toEqual([10_027, 2, 2, 2, 2]);
      expect(truncated[1]).toBe(history[1]);
      expect(truncateOlderMessages(history, { step: 8 })).toBe(history);
      expect(await session.getHistory()).toEqual(history);
      const refused = [{ keepRecent: -1 }, { step: 0 }, { maxTextChars: Number.NaN }, { maxToolOutputChars: 1.5 }];
      for (const options of refused)
        expect(() => truncateOlderMessages(history, options)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
    }));
});

describe("the sessions capability", () => {
  async function countToolCalls(session: Session): Promise<number> {
    let count = 0;
    for await (const message of session.history()) count += message.parts.filter((part) => part.type.startsWith("tool-")).length;
    return count;
  }

  async function regenerate(session: Session, userMessageId: string, reply: SessionMessage) {
    await session.appendMessage(reply, { parentId: userMessageId });
    return { replies: await session.getBranches(userMessageId), path: await session.getHistory({ leafId: reply.id }) };
  }

  test("a request is stored once and answered with 201 or 200, the last megabyte is read back", () =>
    newObject().run(async (host) => {
      const sessions = new Sessions(host, { reservedMetadataKeys: ["channel", "turnMetadata"] });
      const session = sessions.session();
      const post = async (message: SessionMessage) => {
        const result = await session.appendMessage(message, { source: "client" });
        return Response.json(result, { status: result.inserted ? 201 : 200 });
      };
      expect((await post(text("m1"))).status).toBe(201);
      expect((await post(text("m1"))).status).toBe(200);
      const { messages, truncated, totalContentBytes } = await session.getRecentHistory(1024 * 1024);
      expect([idsOf(messages), truncated, totalContentBytes > 0]).toEqual([["m1"], false, true]);
    }));

  test("tool calls are counted in a stream, a reply is made again, a list follows", () =>
    newObject().run(async (host) => {
      const session = new Sessions(host)
        .session("a")
        .onCompaction(
          createCompactFunction({ summarize: async (prompt) => (await generateText({ prompt })).text, keepRecentTokens: 20_000 }),
        )
        .compactAfter(80_000);
      let messages: SessionMessage[] = [];
      session.mirror({
        get: () => messages,
        set: (next) => {
          messages = next;
        },
      });
      await session.appendMessage(text("u1"));
      await session.appendMessage({ id: "a1", role: "assistant", parts: [{ type: "tool-search", toolCallId: "c", input: {} }] });
      expect(await countToolCalls(session)).toBe(1);
      const { replies, path } = await regenerate(session, "u1", text("a2", "a2", "assistant"));
      expect([idsOf(replies), idsOf(path)]).toEqual([
        ["a1", "a2"],
        ["u1", "a2"],
      ]);
      expect(idsOf(messages)).toEqual(["u1", "a1", "a2"]);
    }));
});

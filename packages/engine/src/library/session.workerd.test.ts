/** One session: writing, reading, branches, import. Lines of the published suites are ported where they are about these. */
import { describe, expect, test } from "vitest";
import { Session, type SessionMessage, Sessions } from "./sessions.ts";
import { appendAll, codeOf, idsOf, newObject, talk, text, textOf } from "./testing/in-object.ts";

describe("writing", () => {
  test("stores nothing before the first write, and gives what is stored for an id that comes again", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      expect(await session.getHistory()).toEqual([]);
      expect(await session.getLatestLeaf()).toBeNull();
      expect(await session.getMessage("m1")).toBeNull();
      expect(await session.getPathLength()).toBe(0);
      expect(await session.getCompactions()).toEqual([]);
      await session.deleteMessages(["m1"]);
      expect(host.state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'sp%'").toArray()).toEqual([]);
      expect(await session.appendMessage(text("m1", "first"))).toEqual({ inserted: true, message: text("m1", "first") });
      expect(await session.appendMessage(text("m1", "second"))).toEqual({ inserted: false, message: text("m1", "first") });
      expect(await session.appendMessage(text("m1", "second"), "nowhere")).toMatchObject({ inserted: false });
      expect(await session.getHistory()).toEqual([text("m1", "first")]);
    }));

  test("hangs a message below the leaf, below a parent of either form, or as a root", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(3));
      await session.appendMessage(text("a"), "m0");
      expect(idsOf(await session.getHistory())).toEqual(["m0", "a"]);
      await session.appendMessage(text("b"), { parentId: "m1" });
      expect(idsOf(await session.getHistory())).toEqual(["m0", "m1", "b"]);
      await session.appendMessage(text("root"), null);
      await session.appendMessage(text("below"), undefined);
      expect(idsOf(await session.getHistory())).toEqual(["root", "below"]);
      await session.appendMessage(text("root2"), { parentId: null });
      expect(idsOf(await session.getHistory())).toEqual(["root2"]);
    }));

  test("refuses what names nothing, is no message or has a reserved id, and writes nothing then", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      expect(await codeOf(session.appendMessage(text("m"), "nowhere"))).toBe("unknown_parent");
      await session.appendMessage(text("m0"));
      expect(await codeOf(session.appendMessage(text("m"), "nowhere"))).toBe("unknown_parent");
      expect(await codeOf(session.appendMessage(text("compaction_1")))).toBe("reserved_message_id");
      expect(await codeOf(session.updateMessage(text("compaction_1")))).toBe("reserved_message_id");
      expect(await codeOf(session.importMessage(text("ovl_1"), { parentId: null, createdAt: 0 }))).toBe("reserved_message_id");
      expect(await codeOf(session.appendMessage(text("")))).toBe("invalid_message");
      expect(await codeOf(session.appendMessage(text("m", "m", "emperor")))).toBe("invalid_message");
      const cyclic: SessionMessage = { id: "c", role: "user", parts: [{ type: "data" }] };
      cyclic.parts[0] = { type: "data", self: cyclic };
      expect(await codeOf(session.appendMessage(cyclic))).toContain("TypeError");
      expect(idsOf(await session.getHistory())).toEqual(["m0"]);
    }));

  test("updates in place, keeps the parent, and gives null for what is not there", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      expect(await session.updateMessage(text("m1", "other"))).toBeNull();
      await appendAll(session, talk(3));
      expect(await session.updateMessage(text("m1", "other"))).toEqual(text("m1", "other"));
      expect(await session.updateMessage(text("none"))).toBeNull();
      expect((await session.getHistory()).map(textOf)[1]).toBe("other");
      expect(await session.upsertMessage(text("m1", "again"))).toEqual({ inserted: false, message: text("m1", "again") });
      expect(await session.upsertMessage(text("m3"), { parentId: "m0" })).toMatchObject({ inserted: true });
      expect(idsOf(await session.getHistory())).toEqual(["m0", "m3"]);
    }));

  test("hangs the children of what is deleted below what is left, and forgets the leaf that goes", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(5));
      await session.deleteMessages(["m2", "nothing"]);
      expect(idsOf(await session.getHistory())).toEqual(["m0", "m1", "m3", "m4"]);
      await session.deleteMessages(["m0", "m1", "m4"]);
      expect(idsOf(await session.getHistory())).toEqual(["m3"]);
      await session.clearMessages();
      expect(await session.getHistory()).toEqual([]);
      expect(await session.getLatestLeaf()).toBeNull();
      await session.appendMessage(text("new"));
      expect(idsOf(await session.getHistory())).toEqual(["new"]);
    }));

  test("gives a Date for createdAt, whatever fields beside it, and the message exactly", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      const message = { ...text("m1"), createdAt: new Date(1_750_000_000_000), metadata: { a: [1, null] }, extra: "kept" };
      const { message: stored } = await session.appendMessage(message);
      expect(stored).toEqual(message);
      expect(await session.getMessage("m1")).toEqual(message);
    }));
});

describe("untrusted input", () => {
  test("loses reserved metadata, which what the server had set survives", () =>
    newObject().run(async (host) => {
      const session = new Sessions(host, { reservedMetadataKeys: ["channel"] }).session();
      const sent = { ...text("m1"), metadata: { channel: "forged", own: 1 } };
      expect((await session.appendMessage(sent, { source: "client" })).message.metadata).toEqual({ own: 1 });
      await session.appendMessage({ ...text("m2"), metadata: { channel: "email" } });
      const updated = await session.updateMessage({ ...text("m2"), metadata: { channel: "forged", k: 2 } }, { source: "client" });
      expect(updated?.metadata).toEqual({ channel: "email", k: 2 });
      expect((await session.appendMessage({ ...text("m3"), metadata: { channel: "x" } })).message.metadata).toEqual({
        channel: "x",
      });
    }));

  test("is a user's alone, unless other roles are named", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      const tool = { id: "t", role: "user", parts: [{ type: "tool-search", toolCallId: "c", output: "forged" }] };
      expect(await codeOf(session.appendMessage(text("m", "m", "system"), { source: "client" }))).toBe("role_not_allowed");
      expect(await codeOf(session.appendMessage(tool, { source: "client" }))).toBe("part_not_allowed");
      expect(await session.appendMessage(text("m"), { source: "client" })).toMatchObject({ inserted: true });
      const wide = Session.create(host, { clientRoles: ["user", "assistant"] }).forSession("wide");
      expect(await wide.appendMessage(text("m", "m", "assistant"), { source: "client" })).toMatchObject({ inserted: true });
    }));
});

describe("reading", () => {
  test("streams a path of any length in order, both ways, and ends when it is left", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(1_200));
      const forward: string[] = [];
      for await (const { id } of session.history()) forward.push(id);
      expect(forward).toEqual(idsOf(talk(1_200)));
      const backward: string[] = [];
      for await (const { id } of session.history({ newestFirst: true })) backward.push(id);
      expect(backward).toEqual(forward.toReversed());
      for await (const { id } of session.history({ newestFirst: true })) {
        expect(id).toBe("m1199");
        break;
      }
      expect(idsOf(await session.getHistory({ leafId: "m3", newestFirst: true }))).toEqual(["m3", "m2", "m1", "m0"]);
    }));

  test("has no cap on its depth", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(10_050, 5));
      expect((await session.getHistory()).length).toBe(10_050);
      expect(await session.getPathLength()).toBe(10_050);
    }));

  test("goes on through writes between its windows", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(500));
      const seen: string[] = [];
      for await (const { id } of session.history()) {
        if (seen.push(id) === 10) await session.deleteMessages(["m300"]);
      }
      expect(seen).toEqual(idsOf(talk(500)).filter((id) => id !== "m300"));
    }));

  test("gives batches by count and by bytes, none of them empty", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(120));
      const sizes = async (options: Parameters<Session["historyBatches"]>[0]) => {
        const found: number[] = [];
        for await (const batch of session.historyBatches(options)) found.push(batch.length);
        return found;
      };
      expect(await sizes({})).toEqual([50, 50, 20]);
      expect(await sizes({ batchSize: 100 })).toEqual([100, 20]);
      expect(await sizes({ maxBatchBytes: 1 })).toEqual(Array<number>(120).fill(1));
      expect(await sizes({ batchSize: 0, leafId: "m1" })).toEqual([1, 1]);
    }));

  test("stops with the signal's reason", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(10));
      const stop = new AbortController();
      const read = async () => {
        for await (const { id } of session.history({ signal: stop.signal })) if (id === "m4") stop.abort(new Error("enough"));
      };
      await expect(read()).rejects.toThrow("enough");
      await expect(session.getHistory({ signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
    }));

  test("gives the newest run that fits, the newest message in any case, and what the whole path weighs", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      expect(await session.getRecentHistory(100)).toEqual({ messages: [], truncated: false, totalContentBytes: 0 });
      await appendAll(session, talk(10, 100));
      const stats = await session.getHistoryRowStats();
      const bytes = (from: number) => stats.slice(from).reduce((sum, one) => sum + one.bytes, 0);
      expect(stats.map(({ id, role }) => [id, role])).toEqual(talk(10).map(({ id, role }) => [id, role]));
      expect(stats.every(({ tokenEstimate }) => tokenEstimate === 100)).toBe(true);
      expect(await session.getRecentHistory(bytes(0))).toMatchObject({ truncated: false, totalContentBytes: bytes(0) });
      const three = await session.getRecentHistory(bytes(7));
      expect([idsOf(three.messages), three.truncated, three.totalContentBytes]).toEqual([["m7", "m8", "m9"], true, bytes(0)]);
      expect(idsOf((await session.getRecentHistory(bytes(7) - 1)).messages)).toEqual(["m8", "m9"]);
      expect(idsOf((await session.getRecentHistory(1)).messages)).toEqual(["m9"]);
      expect(idsOf((await session.getRecentHistory(1, { minRecentMessages: 4 })).messages)).toEqual(["m6", "m7", "m8", "m9"]);
      expect((await session.getRecentHistory(1, { minRecentMessages: 40 })).truncated).toBe(false);
      expect(idsOf((await session.getRecentHistory({ maxBytes: 1, leafId: "m3" })).messages)).toEqual(["m3"]);
    }));

  test("refuses a leaf that is not there, in an empty session as well", () =>
    newObject().run(async (host) => {
      for (const session of [Session.create(host), Session.create(host).forSession("other")]) {
        expect(await codeOf(session.getHistory("none"))).toBe("unknown_leaf");
        expect(await codeOf(session.getHistory({ leafId: "none" }))).toBe("unknown_leaf");
        expect(await codeOf(session.getPathLength("none"))).toBe("unknown_leaf");
        expect(await codeOf(session.getHistoryRowStats("none"))).toBe("unknown_leaf");
        expect(await codeOf(session.getRecentHistory(10, { leafId: "none" }))).toBe("unknown_leaf");
        expect(await codeOf(session.getBranches("none"))).toBe("unknown_message");
        expect(await session.search("anything")).toEqual([]);
        await Session.create(host).upsertMessage(text("m0"));
      }
    }));
});

describe("branches", () => {
  test("are the children of a message, each path its own: a reply that is made again", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, [text("m1"), text("u1"), text("a1", "a1", "assistant")]);
      await session.appendMessage(text("a2", "a2", "assistant"), { parentId: "u1" });
      expect(idsOf(await session.getBranches("u1"))).toEqual(["a1", "a2"]);
      expect(idsOf(await session.getHistory({ leafId: "a2" }))).toEqual(["m1", "u1", "a2"]);
      await session.appendMessage(text("u2"), { parentId: "a1" });
      expect(idsOf(await session.getHistory())).toEqual(["m1", "u1", "a1", "u2"]);
      expect(idsOf(await session.getHistory("a2"))).toEqual(["m1", "u1", "a2"]);
      expect((await session.getLatestLeaf())?.id).toBe("u2");
      expect(await session.getPathLength("a2")).toBe(3);
      expect(await session.getBranches("u2")).toEqual([]);
      expect(idsOf((await session.getRecentHistory(1, { leafId: "a2" })).messages)).toEqual(["a2"]);
    }));
});

describe("import", () => {
  test("copies a conversation by the published recipe", () =>
    newObject().run(async (host) => {
      const [source, destination] = [Session.create(host), Session.create(host).forSession("copy")];
      await appendAll(source, talk(3));
      await source.appendMessage({ ...text("dated"), createdAt: new Date(1_700_000_000_000) });
      let parentId: string | null = null;
      for await (const message of source.history()) {
        await destination.importMessage(message, { parentId, createdAt: message.createdAt?.getTime() ?? Date.now() });
        parentId = message.id;
      }
      expect(await destination.getHistory()).toEqual(await source.getHistory());
    }));

  test("takes the leaf from nobody, wants the parent first, and knows no cycle", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, talk(3));
      const at = { createdAt: 1_000 };
      expect(await session.importMessage(text("old"), { parentId: "m0", ...at })).toEqual({
        inserted: true,
        message: text("old"),
      });
      await session.importMessage(text("root"), { parentId: null, ...at });
      expect(idsOf(await session.getHistory())).toEqual(["m0", "m1", "m2"]);
      expect(idsOf(await session.getHistory("old"))).toEqual(["m0", "old"]);
      await session.importMessage(text("next"), { parentId: "m2", createdAt: new Date(2_000) });
      expect((await session.getLatestLeaf())?.id).toBe("next");
      await session.appendMessage(text("after"));
      expect(idsOf(await session.getHistory())).toEqual(["m0", "m1", "m2", "next", "after"]);
      expect(await session.importMessage(text("old", "other"), { parentId: null, ...at })).toEqual({
        inserted: false,
        message: text("old"),
      });
      expect(await codeOf(session.importMessage(text("x"), { parentId: "y", ...at }))).toBe("unknown_parent");
      expect(await codeOf(session.importMessage(text("x"), { parentId: "x", ...at }))).toBe("cycle");
      expect(await codeOf(session.importMessage(text("x"), { parentId: null, createdAt: Number.NaN }))).toBe("invalid_argument");
    }));
});

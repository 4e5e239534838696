/** A session in a storage of the caller's own. */
import { describe, expect, test } from "vitest";
import { type SearchResult, Session } from "./sessions.ts";
import { appendAll, codeOf, idsOf, newObject, talk, text, textOf } from "./testing/in-object.ts";
import { MapProvider } from "./testing/map-provider.ts";

class SearchingProvider extends MapProvider {
  searchMessages = async (query: string, limit?: number): Promise<SearchResult[]> =>
    [...this.rows.values()]
      .filter(({ message }) => String(textOf(message)).includes(query))
      .slice(0, limit)
      .map(({ message }) => ({ id: message.id, role: message.role, content: String(textOf(message)) }));
}

describe("a session in a storage of its own", () => {
  test("writes and reads through the twelve methods, as strictly as in ours", async () => {
    const session = new Session(new MapProvider());
    await appendAll(session, talk(4));
    expect(await session.appendMessage(text("m0", "again"))).toEqual({ inserted: false, message: talk(1)[0] });
    await session.appendMessage(text("b"), { parentId: "m1" });
    expect(idsOf(await session.getHistory())).toEqual(["m0", "m1", "b"]);
    expect(idsOf(await session.getHistory({ leafId: "m3" }))).toEqual(["m0", "m1", "m2", "m3"]);
    expect(idsOf(await session.getBranches("m1"))).toEqual(["m2", "b"]);
    expect(await session.getPathLength("m3")).toBe(4);
    expect(await session.updateMessage(text("b", "other"))).toEqual(text("b", "other"));
    expect(await session.updateMessage(text("none"))).toBeNull();
    expect(await session.upsertMessage(text("c"))).toMatchObject({ inserted: true });
    expect((await session.getLatestLeaf())?.id).toBe("c");
    expect(await codeOf(session.appendMessage(text("x"), "none"))).toBe("unknown_parent");
    expect(await codeOf(session.getHistory("none"))).toBe("unknown_leaf");
    expect(await codeOf(session.appendMessage(text("x", "x", "system"), { source: "client" }))).toBe("role_not_allowed");
    expect(await codeOf(session.importMessage(text("x"), { parentId: null, createdAt: 0 }))).toBe("unsupported");
    await session.deleteMessages(["c"]);
    await session.clearMessages();
    expect(await session.getHistory()).toEqual([]);
  });

  test("streams, batches and measures by whole reads, with honest numbers", async () => {
    const session = Session.create(new MapProvider());
    await appendAll(session, talk(60));
    const batches: number[] = [];
    for await (const batch of session.historyBatches()) batches.push(batch.length);
    expect(batches).toEqual([50, 10]);
    const stats = await session.getHistoryRowStats();
    const total = stats.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(await session.getRecentHistory(total)).toMatchObject({ truncated: false, totalContentBytes: total });
    const recent = await session.getRecentHistory(1);
    expect([idsOf(recent.messages), recent.truncated, recent.totalContentBytes]).toEqual([["m59"], true, total]);
    expect(idsOf(await session.getHistory({ newestFirst: true }))[0]).toBe("m59");
  });

  test("is compacted, and goes on from its summary", async () => {
    const provider = new MapProvider();
    const session = new Session(provider).onCompaction((messages) => ({
      fromMessageId: messages.find(({ id }) => !id.startsWith("compaction_") && id !== "m0")?.id ?? "",
      toMessageId: messages.at(-2)?.id ?? "",
      summary: `${messages.length}`,
    }));
    await appendAll(session, talk(5));
    expect(await session.compact()).toEqual({ fromMessageId: "m1", toMessageId: "m3", summary: "5" });
    await appendAll(session, talk(2, 10, "n"));
    expect(await session.compact()).toEqual({ fromMessageId: "m1", toMessageId: "n0", summary: "5" });
    expect((await session.getHistory()).map(({ id }) => id)).toEqual(["m0", "compaction_1", "n1"]);
    expect(await codeOf(session.addCompaction("s", "none", "m1"))).toBe("unknown_message");
  });

  test("searches where its storage does, and is refused where it does not", async () => {
    const session = new Session(new SearchingProvider());
    await appendAll(session, [text("m1", "deployment on Friday"), text("m2")]);
    expect(await session.search("Friday", { limit: 10 })).toEqual([{ id: "m1", role: "user", content: "deployment on Friday" }]);
    expect(await codeOf(new Session(new MapProvider()).search("x"))).toBe("unsupported");
  });

  test("touches no table of the object", () =>
    newObject().run(async (host) => {
      await appendAll(new Session(new MapProvider()), talk(2));
      expect(host.state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'sp%'").toArray()).toEqual([]);
    }));
});

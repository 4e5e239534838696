/** Several sessions in one object, and what outlives the object's memory. */
import { describe, expect, test } from "vitest";
import { AgentSessionProvider, Session, Sessions } from "./sessions.ts";
import { appendAll, codeOf, idsOf, newObject, talk, text, textOf } from "./testing/in-object.ts";

describe("several sessions of one object", () => {
  test("have the same ids, trees, summaries and media, and nothing of each other", () =>
    newObject().run(async (host) => {
      const sessions = new Sessions(host);
      const [support, sales] = [sessions.session("support"), sessions.session("sales")];
      await appendAll(support, talk(6));
      await appendAll(sales, [text("m0", "sales"), text("m1"), text("m2")]);
      await support.addCompaction("of support", "m1", "m3");
      expect(idsOf(await support.getHistory()).length).toBe(4);
      expect(idsOf(await sales.getHistory())).toEqual(["m0", "m1", "m2"]);
      expect(await sales.getCompactions()).toEqual([]);
      expect(textOf(await sales.getMessage("m0"))).toBe("sales");
      expect(await codeOf(sales.appendMessage(text("x"), "m5"))).toBe("unknown_parent");
      expect(await codeOf(sales.getHistory("m5"))).toBe("unknown_leaf");
      await sales.clearMessages();
      expect(await sales.getHistory()).toEqual([]);
      expect((await support.getHistory()).length).toBe(4);
      expect(await sessions.session().getHistory()).toEqual([]);
    }));

  test("are one session for all handles that name it, whichever way they reach the database", () =>
    newObject().run(async (host) => {
      const { storage } = host.state;
      const handles = [
        Session.create(host),
        Session.create(storage),
        Session.create({ ctx: host.state }),
        Session.create(host.state),
        new Session(new AgentSessionProvider(host)),
        new Sessions(host).session(),
      ];
      for (const [index, handle] of handles.entries()) await handle.appendMessage(text(`m${index}`));
      for (const handle of handles) expect(idsOf(await handle.getHistory())).toEqual(["m0", "m1", "m2", "m3", "m4", "m5"]);
    }));

  test("are named before they are used, in any order of the builder, and not after", () =>
    newObject().run(async (host) => {
      const session = Session.create(host)
        .compactAfter(1)
        .forSession("a")
        .onCompactionError(() => undefined);
      await session.appendMessage(text("m0"));
      expect(
        idsOf(
          await Session.create(host)
            .forSession("a")
            .onCompaction(() => null)
            .getHistory(),
        ),
      ).toEqual(["m0"]);
      expect(await codeOf(() => session.forSession("b"))).toBe("in_use");
      const sessions = new Sessions(host);
      expect(sessions.session("a")).toBe(sessions.session("a"));
    }));

  test("live beside an application's own tables of the engine's names", () =>
    newObject().run(async (host) => {
      const { sql } = host.state.storage;
      sql.exec("CREATE TABLE messages (id TEXT); CREATE TABLE media (id TEXT); CREATE TABLE _migrations (id TEXT);");
      const session = Session.create(host);
      await appendAll(session, talk(3));
      const tables = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite%'").toArray();
      const own = tables.map(({ name }) => name).filter((name) => !name.startsWith("sp_") && !name.startsWith("_cf_"));
      expect(own.toSorted()).toEqual(["_migrations", "media", "messages"]);
      expect(sql.exec("SELECT * FROM messages").toArray()).toEqual([]);
    }));

  test("two hundred of them open and read", async () => {
    const object = newObject();
    await object.run(async (host) => {
      for (let index = 0; index < 200; index++)
        await Session.create(host)
          .forSession(`s${index}`)
          .appendMessage(text("m", `${index}`));
    });
    await object.evict();
    await object.run(async (host) => {
      for (let index = 0; index < 200; index++)
        expect(textOf(await Session.create(host).forSession(`s${index}`).getLatestLeaf())).toBe(`${index}`);
    });
  });
});

describe("eviction", () => {
  test("keeps the tree, the leaf, the summaries and the numbers, and appends go on from there", async () => {
    const object = newObject();
    await object.run(async (host) => {
      const session = Session.create(host).forSession("a");
      await appendAll(session, talk(6));
      await session.addCompaction("a summary", "m1", "m3");
      await session.importMessage(text("old"), { parentId: "m0", createdAt: 1 });
      await session.deleteMessages(["m4"]);
    });
    await object.evict();
    await object.run(async (host) => {
      const session = Session.create(host).forSession("a");
      expect((await session.getLatestLeaf())?.id).toBe("m5");
      await session.appendMessage(text("m6"));
      const history = await session.getHistory();
      expect(history.map((one) => (one.id.startsWith("compaction_") ? textOf(one) : one.id))).toEqual([
        "m0",
        "a summary",
        "m5",
        "m6",
      ]);
      await Session.create(host).forSession("b").appendMessage(text("m0"));
      expect(await session.getPathLength()).toBe(6);
    });
  });

  test("keeps two objects apart", async () => {
    const [one, other] = [newObject(), newObject()];
    await one.run((host) => Session.create(host).appendMessage(text("m", "one")));
    await other.run((host) => Session.create(host).appendMessage(text("m", "other")));
    await Promise.all([one.evict(), other.evict()]);
    expect(await one.run(async (host) => textOf(await Session.create(host).getMessage("m")))).toBe("one");
    expect(await other.run(async (host) => textOf(await Session.create(host).getMessage("m")))).toBe("other");
  });
});

describe("a host that has a sql method alone", () => {
  test("does all that a Durable Object does", async () => {
    const object = newObject();
    await object.run(async (host) => {
      const bare = { sql: host.sql.bind(host) };
      const session = Session.create(bare).forSession("a");
      await appendAll(session, talk(6));
      expect(await session.appendMessage(text("m0", "again"))).toEqual({ inserted: false, message: talk(1)[0] });
      await session.appendMessage(text("b"), "m2");
      await session.updateMessage(text("m1", "other"));
      await session.deleteMessages(["m0"]);
      await session.addCompaction("a summary", "m1", "m2");
      const big = text("big", "x".repeat(2_000_000));
      expect(await session.appendMessage(big)).toEqual({ inserted: true, message: big });
      expect((await session.getHistory()).map(({ id }) => id.slice(0, 11))).toEqual(["compaction_", "b", "big"]);
      expect(idsOf(await session.getBranches("m2"))).toEqual(["m3", "b"]);
    });
    await object.evict();
    // The same tables, whichever way they are reached.
    expect(await object.run(async (host) => await Session.create(host).forSession("a").getPathLength("m5"))).toBe(5);
  });
});

test("handles with a sql method of their own see what the others wrote", () =>
  newObject().run(async (host) => {
    const handles = [0, 1, 2].map(() => Session.create({ sql: host.sql.bind(host) }));
    for (const [index, message] of talk(9).entries()) await handles[index % 3]?.appendMessage(message);
    await handles[0]?.deleteMessages(["m8"]);
    await Session.create(host).appendMessage(text("last"));
    for (const handle of handles) expect(idsOf(await handle.getHistory())).toEqual([...idsOf(talk(8)), "last"]);
  }));

test("what gives no database is refused", async () => {
  expect(await codeOf(() => Reflect.construct(Sessions, [{ sql: undefined, ctx: {} }]))).toBe("invalid_argument");
});

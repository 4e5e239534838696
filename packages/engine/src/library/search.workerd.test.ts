import { expect, test } from "vitest";
import { SessionManager } from "./sessions.ts";
import { Session } from "./session.ts";
import { newObject, text } from "./testing/in-object.ts";

const found = async (session: Session, query: string): Promise<string[]> =>
  (await session.search(query)).map((hit) => hit.id).toSorted();

test("a session finds its messages, whatever stands between the words, and no other session's", () =>
  newObject().run(async (host) => {
    const [one, two] = [Session.create(host).forSession("one"), Session.create(host).forSession("two")];
    await one.appendMessage(text("m1", "on Friday we plan the deployment"));
    await two.appendMessage(text("m1", "the deployment is on Friday"));
    await one.appendMessage(text("m2", "用户喜欢咖啡"));
    expect(await one.search("deployment Friday", { limit: 10 })).toMatchObject([
      { id: "m1", role: "user", content: "on Friday we plan the deployment" },
    ]);
    expect([await found(one, '"deployment Friday"'), await found(one, "deploy*"), await found(one, "咖")]).toEqual([
      [],
      ["m1"],
      ["m2"],
    ]);
    for (const odd of ["", '"', "a OR", "NEAR(", "\u0000", "\ud800", "*", "🙂"]) expect(await found(one, odd)).toEqual([]);
  }));

test("the index follows every change, and goes with the session's messages", () =>
  newObject().run(async (host) => {
    const session = Session.create(host);
    await session.appendMessage(text("m1", "apples"));
    await session.appendMessage(text("m2", "pears"));
    expect(await found(session, "apples")).toEqual(["m1"]);
    await session.appendMessage(text("m3", "more apples"));
    await session.updateMessage(text("m1", "cherries"));
    expect([await found(session, "apples"), await found(session, "cherries")]).toEqual([["m3"], ["m1"]]);
    await session.deleteMessages(["m3"]);
    expect(await found(session, "apples")).toEqual([]);
    await session.clearMessages();
    expect(await found(session, "pears")).toEqual([]);
    await session.appendMessage(text("m4", "pears again"));
    expect(await found(session, "pears")).toEqual(["m4"]);
  }));

test("a manager searches the sessions that it lists, and says whose a hit is", () =>
  newObject().run(async (host) => {
    const manager = SessionManager.create(host);
    const [one, two] = [await manager.create("one"), await manager.create("two")];
    await manager.append(one.id, text("m1", "apples and pears"));
    await manager.append(two.id, text("m1", "pears"));
    await manager.getSession("unlisted").appendMessage(text("m1", "pears"));
    const hits = await manager.search("pears");
    expect(hits.map((hit) => hit.sessionId).toSorted()).toEqual([one.id, two.id].toSorted());
    expect(await manager.search("pears", { limit: 1 })).toHaveLength(1);
    await manager.delete(two.id);
    expect((await manager.search("pears")).map((hit) => hit.sessionId)).toEqual([one.id]);
  }));

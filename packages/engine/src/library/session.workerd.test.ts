import { describe, expect, test } from "vitest";
import { Session, SessionError, type SessionMessage } from "./sessions.ts";
import { appendAll, codeOf, idsOf, newObject, talk, text, textOf } from "./testing/in-object.ts";

describe("writing", () => {
  test("a first append makes the tables, and a second of the same id gives what is stored", async () => {
    await newObject().run(async (host) => {
      const session = Session.create(host);
      expect(await session.getHistory()).toEqual([]);
      expect(await session.getLatestLeaf()).toBeNull();
      expect(host.state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'sp%'").toArray()).toEqual([]);
      expect(await session.appendMessage(text("m1", "first"))).toEqual({ inserted: true, message: text("m1", "first") });
      expect(await session.appendMessage(text("m1", "second"))).toEqual({ inserted: false, message: text("m1", "first") });
      expect(await session.getHistory()).toEqual([text("m1", "first")]);
    });
  });
});

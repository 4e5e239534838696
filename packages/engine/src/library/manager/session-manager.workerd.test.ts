/** Named sessions: their registry, the methods by id, forks and splits. */
import { describe, expect, test } from "vitest";
import { SessionManager } from "../sessions.ts";
import { codeOf, idsOf, newObject, talk, text, textOf } from "../testing/in-object.ts";

describe("the registry", () => {
  test("creates, gives, renames and lists sessions, the last one written to first", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host);
      expect(await manager.list()).toEqual([]);
      expect(await manager.get("none")).toBeNull();
      const first = await manager.create("My Chat");
      const second = await manager.create("Other", { parentSessionId: first.id, model: "a-model", source: "web" });
      expect(await manager.get(second.id)).toEqual(second);
      expect(second).toMatchObject({
        name: "Other",
        parent_session_id: first.id,
        model: "a-model",
        source: "web",
        end_reason: null,
      });
      expect(first).toMatchObject({ parent_session_id: null, input_tokens: 0, output_tokens: 0, estimated_cost: 0 });
      expect(idsOf(await manager.list())).toEqual([second.id, first.id]);
      await manager.append(first.id, text("m1"));
      expect(idsOf(await manager.list())).toEqual([first.id, second.id]);
      await manager.rename(second.id, "New Name");
      expect((await manager.list()).map(({ name }) => name)).toEqual(["New Name", "My Chat"]);
      expect(await codeOf(manager.rename("none", "x"))).toBe("unknown_session");
    }));

  test("deletes a session with all that it had, once and again", async () => {
    const object = newObject();
    await object.run(async (host) => {
      const manager = SessionManager.create(host);
      const kept = await manager.create("kept");
      await manager.append(kept.id, text("m"));
      const tables = () => host.state.storage.sql.exec("SELECT name FROM sqlite_master").toArray().length;
      const before = tables();
      const { id } = await manager.create("gone");
      await manager.appendAll(id, talk(5));
      const handle = manager.getSession(id);
      await manager.addCompaction(id, "a summary", "m0", "m1");
      await manager.delete(id);
      await manager.delete(id);
      expect(tables()).toBe(before);
      expect(await manager.get(id)).toBeNull();
      expect(await handle.getHistory()).toEqual([]);
      expect(await manager.getHistory(id)).toEqual([]);
      await handle.appendMessage(text("anew"));
      expect(idsOf(await manager.getHistory(id))).toEqual(["anew"]);
      expect(idsOf(await manager.getHistory(kept.id))).toEqual(["m"]);
    });
    await object.evict();
    expect(await object.run(async (host) => (await SessionManager.create(host).list()).map(({ name }) => name))).toEqual([
      "kept",
    ]);
  });

  test("adds usage, and refuses what is negative or of no session", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host);
      const { id } = await manager.create("a");
      await manager.addUsage(id, 100, 20, 0.5);
      await manager.addUsage(id, 1, 2, 0);
      expect(await manager.get(id)).toMatchObject({ input_tokens: 101, output_tokens: 22, estimated_cost: 0.5 });
      expect(await codeOf(manager.addUsage("none", 1, 1, 1))).toBe("unknown_session");
      for (const [input, output, cost] of [
        [-5, 0, 0],
        [0, -1, 0],
        [0, 0, -0.1],
        [0.5, 0, 0],
        [Number.NaN, 0, 0],
      ] as const)
        expect(await codeOf(manager.addUsage(id, input, output, cost))).toBe("invalid_usage");
    }));
});

describe("the methods by id", () => {
  test("write and read one session each", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host);
      const [a, b] = [await manager.create("a"), await manager.create("b")];
      await manager.append(a.id, text("m1"));
      expect(await manager.upsert(a.id, text("m1", "other"))).toEqual({ inserted: false, message: text("m1", "other") });
      await manager.appendAll(a.id, [text("m2"), text("m3")]);
      expect(idsOf(await manager.getHistory(a.id))).toEqual(["m1", "m2", "m3"]);
      await manager.appendAll(a.id, [text("b2"), text("b3")], "m1");
      expect(idsOf(await manager.getHistory(a.id))).toEqual(["m1", "b2", "b3"]);
      expect(idsOf(await manager.getHistory(a.id, "m3"))).toEqual(["m1", "m2", "m3"]);
      expect(idsOf(await manager.getBranches(a.id, "m1"))).toEqual(["m2", "b2"]);
      expect(await manager.getMessageCount(a.id)).toBe(3);
      await manager.append(b.id, text("m1"));
      await manager.deleteMessages(a.id, ["m1"]);
      expect(idsOf(await manager.getHistory(b.id))).toEqual(["m1"]);
      expect(await codeOf(manager.append(a.id, text("x"), "none"))).toBe("unknown_parent");
      await manager.clearMessages(a.id);
      expect(await manager.getMessageCount(a.id)).toBe(0);
      expect(manager.getSession(a.id)).toBe(manager.getSession(a.id));
    }));

  test("compact as the manager was told, sessions that were handed out before among them", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host);
      const early = manager.getSession("early");
      const errors: unknown[] = [];
      manager
        .onCompaction(([first, second]) => ({
          fromMessageId: first?.id ?? "",
          toMessageId: second?.id ?? "none",
          summary: "found",
        }))
        .compactAfter(15)
        .onCompactionError((error) => void errors.push(error));
      await early.appendMessage(text("big", "abcd".repeat(100)));
      expect(errors).toMatchObject([{ code: "unknown_message" }]);
      await manager.appendAll("late", talk(2));
      expect(await manager.getCompactions("late")).toMatchObject([{ fromMessageId: "m0", toMessageId: "m1", summary: "found" }]);
    }));
});

test("a session that is deleted while it is summarised is not there again", () =>
  newObject().run(async (host) => {
    const manager = SessionManager.create(host);
    const { id } = await manager.create("a");
    await manager.appendAll(id, talk(3));
    const compacting = manager.getSession(id).onCompaction(async () => {
      await manager.delete(id);
      return { fromMessageId: "m0", toMessageId: "m1", summary: "late" };
    });
    expect(await codeOf(compacting.compact())).toBe("unknown_message");
    expect(await manager.getHistory(id)).toEqual([]);
  }));

describe("fork", () => {
  test("copies the originals up to a message under new ids, with the summaries that fit, and no usage", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host);
      const { id } = await manager.create("a");
      const image = {
        type: "file",
        mediaType: "image/png",
        url: `data:image/png;base64,${Buffer.alloc(2_000, 1).toString("base64")}`,
      };
      await manager.appendAll(id, [...talk(6), { id: "img", role: "user", parts: [image] }, text("m7"), text("m8")]);
      await manager.append(id, text("branch"), "m2");
      await manager.addCompaction(id, "fits", "m1", "m2");
      await manager.addCompaction(id, "too long", "m5", "m8");
      await manager.addUsage(id, 10, 10, 1);
      const forked = await manager.fork(id, "m7", "Forked Chat");
      expect(forked).toMatchObject({ name: "Forked Chat", parent_session_id: id, input_tokens: 0 });
      const history = await manager.getHistory(forked.id);
      expect(history.map(textOf)).toEqual([
        textOf(talk(1)[0]),
        "fits",
        ...[3, 4, 5].map((at) => textOf(talk(6)[at])),
        undefined,
        "m7",
      ]);
      expect(history[5]?.parts).toEqual([image]);
      expect(idsOf(history).some((one) => /^m\d$/.test(one))).toBe(false);
      expect(await manager.getMessageCount(forked.id)).toBe(8);
      await manager.append(forked.id, text("goes on"));
      expect((await manager.getHistory(id, "m8")).map(({ id: one }) => one)).not.toContain("goes on");
    }));

  test("of what is not there is refused and leaves nothing", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host);
      const { id } = await manager.create("a");
      expect(await codeOf(manager.fork("none", "m", "x"))).toBe("unknown_session");
      expect(await codeOf(manager.fork(id, "m", "x"))).toBe("unknown_message");
      await manager.append(id, text("m0"));
      expect(await codeOf(manager.fork(id, "m", "x"))).toBe("unknown_message");
      expect(idsOf(await manager.list())).toEqual([id]);
    }));
});

describe("compactAndSplit", () => {
  test("ends the session and goes on in another that begins with the summary", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host);
      const { id } = await manager.create("a", { model: "a-model", source: "web" });
      await manager.appendAll(id, talk(3));
      const next = await manager.compactAndSplit(id, "what was said", "Continued Chat");
      expect(next).toMatchObject({
        name: "Continued Chat",
        parent_session_id: id,
        model: "a-model",
        source: "web",
        end_reason: null,
      });
      expect(await manager.get(id)).toMatchObject({ end_reason: "compaction" });
      const history = await manager.getHistory(next.id);
      expect(history).toMatchObject([{ role: "assistant" }]);
      expect(textOf(history[0])).toContain("what was said");
      expect((await manager.compactAndSplit(next.id, "again")).name).toBe("Continued Chat");
      expect(await manager.getMessageCount(id)).toBe(3);
    }));

  test("of a session that is not there is refused, and so is an empty summary", () =>
    newObject().run(async (host) => {
      const manager = SessionManager.create(host);
      expect(await codeOf(manager.compactAndSplit("none", "x"))).toBe("unknown_session");
      const { id } = await manager.create("a");
      expect(await codeOf(manager.compactAndSplit(id, " "))).toBe("invalid_summary");
      expect((await manager.list()).length).toBe(1);
    }));
});

/** Messages with bytes in them, and messages that no row holds. */
import { describe, expect, test } from "vitest";
import { Session, type SessionMessage } from "./sessions.ts";
import { appendAll, newObject, text } from "./testing/in-object.ts";

const base64 = (bytes: number, fill = 7): string => Buffer.alloc(bytes, fill).toString("base64");
const image = (id: string, bytes: number, fill?: number): SessionMessage => ({
  id,
  role: "user",
  parts: [
    { type: "text", text: "look" },
    { type: "file", mediaType: "image/png", url: `data:image/png;base64,${base64(bytes, fill)}` },
  ],
});

describe("bytes in a message", () => {
  test("are kept once, come back exactly, and go with the last message that has them", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      const kept = () => host.state.storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM sp_1_media").one().n;
      expect((await session.appendMessage(image("m1", 200_000))).message).toEqual(image("m1", 200_000));
      await session.appendMessage(image("m2", 200_000));
      expect(kept()).toBe(1);
      expect(await session.getMessage("m2")).toEqual(image("m2", 200_000));
      expect(await session.getHistory()).toEqual([image("m1", 200_000), image("m2", 200_000)]);
      await session.deleteMessages(["m1"]);
      expect(kept()).toBe(1);
      expect(await session.updateMessage(text("m2"))).toEqual(text("m2"));
      expect(kept()).toBe(0);
    }));

  test("keep their media type of each place, nested and in tools' outputs", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      const data = base64(1_000);
      const message: SessionMessage = {
        id: "m",
        role: "assistant",
        parts: [
          { type: "tool-shot", toolCallId: "c", output: { content: [{ mediaType: "application/pdf", data }] } },
          { type: "file", mediaType: "image/png", url: `data:image/png;base64,${data}` },
          { type: "file", mediaType: "text/plain", url: `data:text/plain;base64,${data}` },
        ],
      };
      await session.appendMessage(message);
      expect(await session.getMessage("m")).toEqual(message);
    }));

  test("count in stats, budgets and totals as what they take in place", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await appendAll(session, [image("m1", 30_000), image("m2", 30_000, 8)]);
      const [first, second] = await session.getHistoryRowStats();
      expect(first?.bytes).toBeGreaterThan(40_000);
      const recent = await session.getRecentHistory(50_000);
      expect([recent.messages.length, recent.truncated]).toEqual([1, true]);
      expect(recent.totalContentBytes).toBe((first?.bytes ?? 0) + (second?.bytes ?? 0));
      expect(first?.tokenEstimate).toBeGreaterThanOrEqual(1_600);
    }));

  test("of another session are not shown for a text that looks like a pointer to them", () =>
    newObject().run(async (host) => {
      await Session.create(host).appendMessage(image("secret", 1_000));
      const [{ id }] = host.state.storage.sql.exec<{ id: string }>("SELECT id FROM sp_1_media").toArray() as [{ id: string }];
      const other = Session.create(host).forSession("other");
      for (const [index, url] of [id, `attachment:sha256:${id}`, `/v1/attachments/${id}`].entries()) {
        const message = { id: `m${index}`, role: "user", parts: [{ type: "file", mediaType: "image/png", url }] };
        await other.appendMessage(message, { source: "client" });
        expect(await other.getMessage(message.id)).toEqual(message);
      }
    }));

  test("that no row holds stay in the message and come back exactly", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      await session.appendMessage(image("m", 3_000_000));
      expect(await session.getMessage("m")).toEqual(image("m", 3_000_000));
    }));
});

describe("a message of any size", () => {
  test("is split over rows between characters, shrinks and goes whole", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      const rows = () => host.state.storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM sp_1_continuations").one().n;
      const large = text("m", "😀".repeat(1_300_000));
      await session.appendMessage(large);
      expect(rows()).toBeGreaterThan(2);
      expect(await session.getMessage("m")).toEqual(large);
      expect(await session.updateMessage(large)).toEqual(large);
      await session.updateMessage(text("m", "small"));
      expect(rows()).toBe(0);
      await session.importMessage({ ...large, id: "n" }, { parentId: "m", createdAt: 1 });
      expect(await session.getMessage("n")).toEqual({ ...large, id: "n" });
      await session.clearMessages();
      expect(rows()).toBe(0);
    }));

  test("is not limited", () =>
    newObject().run(async (host) => {
      const session = Session.create(host);
      const huge = text("m", "x".repeat(20_000_000));
      await session.appendMessage(huge);
      expect(await session.getMessage("m")).toEqual(huge);
    }));
});

/** What the library's operations cost in rows. Exact, whatever the machine. */
import { expect, test, vi } from "vitest";
import { Session } from "./sessions.ts";
import type { TestHost } from "./testing/host-worker.ts";
import { appendAll, newObject, talk, text } from "./testing/in-object.ts";

async function rowsOf(host: TestHost, work: () => Promise<unknown>): Promise<{ read: number; written: number }> {
  const exec = vi.spyOn(Object.getPrototypeOf(host.state.storage.sql) as SqlStorage, "exec");
  await work();
  const cursors = exec.mock.results.map((call) => call.value as SqlStorageCursor<never>);
  exec.mockRestore();
  return {
    read: cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0),
    written: cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0),
  };
}

test("an append is two rows, with a threshold too; an edit three, or none; a read of the newest reads what it gives", () =>
  newObject().run(async (host) => {
    const costs = async (count: number) => {
      const session = Session.create(host).forSession(`${count}`);
      await appendAll(session, talk(count));
      session.onCompaction(() => null).compactAfter(1_000_000);
      return {
        append: await rowsOf(host, () => session.appendMessage(text("next"))),
        update: await rowsOf(host, () => session.updateMessage(text("m7", "other"))),
        same: await rowsOf(host, () => session.updateMessage(text("m7", "other"))),
        recent: await rowsOf(host, () => session.getRecentHistory(1_000)),
        newest: await rowsOf(host, async () => {
          for await (const message of session.history({ newestFirst: true })) if (message.id === "next") break;
        }),
      };
    };
    const [small, large] = [await costs(100), await costs(5_000)];
    expect([large.append.written, large.update.written, large.same.written]).toEqual([2, 3, 0]);
    expect(large.append.read).toBeLessThan(6);
    expect(large.recent).toEqual(small.recent);
    expect(large.recent.read).toBeLessThan(40);
    expect(large.newest.read).toBeLessThan(20);
  }));

/** What an operation costs: the rows that its statements read and wrote. Exact, whatever the machine. */
import { runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import type { SessionDO } from "../session-do.ts";
import type { TestSession } from "./session.ts";

export type Rows = { readonly read: number; readonly written: number };

export async function rowsOf(session: TestSession, work: (object: SessionDO) => Promise<unknown>): Promise<Rows> {
  return runInDurableObject(session.stub, async (instance, state) => {
    const prototype = Object.getPrototypeOf(state.storage.sql) as SqlStorage;
    const exec = vi.spyOn(prototype, "exec");
    await work(instance);
    const cursors = exec.mock.results.map((call) => call.value as SqlStorageCursor<never>);
    exec.mockRestore();
    return {
      read: cursors.reduce((sum, cursor) => sum + cursor.rowsRead, 0),
      written: cursors.reduce((sum, cursor) => sum + cursor.rowsWritten, 0),
    };
  });
}

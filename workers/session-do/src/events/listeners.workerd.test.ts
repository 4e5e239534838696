/** Listeners that hear nothing, and listeners that take nothing. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { SessionDO } from "../session-do.ts";
import { watchQueues } from "../testing/queues.ts";
import { RULES, message, opened, valueOf } from "../testing/session.ts";
import type { Turns } from "../turns.ts";

beforeEach(() => {
  watchQueues();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const HEARTBEAT_MS = 15_000;
const MINUTE_MS = 60_000;

type Listening = {
  readonly read: () => Promise<string>;
  readonly count: () => number;
  readonly write: (id: string) => Promise<unknown>;
  readonly cancel: () => Promise<void>;
};

/** Inside the object: a stream is used where it was made. */
async function listening(work: (listening: Listening) => Promise<void>): Promise<void> {
  const { stub } = await opened();
  await runInDurableObject(stub, async (instance: SessionDO) => {
    const reader = valueOf(await instance.streamEvents({ after: 0 })).getReader();
    const { listeners } = (instance as unknown as { turns: Turns }).turns;
    await work({
      read: async () => new TextDecoder().decode((await reader.read()).value),
      count: () => listeners.count,
      write: (id) => instance.append({ messages: [message(id)], source: "server", rules: RULES }),
      cancel: () => reader.cancel(),
    });
  });
}

test("one that hears nothing gets a heartbeat, and what is written wakes it at once", async () => {
  await listening(async ({ read, write, count, cancel }) => {
    expect(await read()).toBe("id: 0\n\n");
    const silent = read();
    await vi.advanceTimersByTimeAsync(HEARTBEAT_MS);
    expect(await silent).toBe(": still here\n\n");
    const next = read();
    await write("a");
    expect(await next).toContain("event: append");
    expect(count()).toBe(1);
    await cancel();
    expect(count()).toBe(0);
  });
});

test("one that takes nothing for a minute is let go, and told so when it comes back", async () => {
  await listening(async ({ read, write, count }) => {
    await read();
    const next = read();
    await write("a");
    await next;
    // Of these it is sent the first, and takes none.
    for (const id of ["b", "c", "d"]) await write(id);
    await vi.advanceTimersByTimeAsync(MINUTE_MS - 1_000);
    expect(count()).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(count()).toBe(0);
    await expect(
      (async () => {
        for (;;) await read();
      })(),
    ).rejects.toThrow("takes nothing");
  });
});

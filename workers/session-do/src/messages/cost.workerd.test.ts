import { evictDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, test } from "vitest";
import type { Message } from "@sessionplane/shared/message";
import type { HistoryQuery } from "@sessionplane/shared/rpc/session-rpc";
import { RULES, type TestSession, append, conversation, message, opened, valueOf } from "../testing/session.ts";
import { type Rows, rowsOf } from "../testing/rows.ts";

const LARGE = 100_000;
const SMALL = 1_000;
const BATCH = 1_000;
const WRITE = { source: "server", rules: RULES } as const;

async function filled(count: number): Promise<TestSession> {
  const session = await opened({ compaction: { automatic: false } });
  for (let at = 0; at < count; at += BATCH) await append(session, conversation(BATCH, 100, `m${at / BATCH}-`));
  return session;
}

let large: TestSession;
let small: TestSession;
beforeAll(async () => {
  small = await filled(SMALL);
  large = await filled(LARGE);
}, 120_000);

const put = (session: TestSession, one: Message): Promise<Rows> =>
  rowsOf(session, (object) => object.putMessage({ message: one, ...WRITE }));

describe("rows", () => {
  // First: what follows edits the large one.
  test("of a recent window and of a cold leaf are the same at any length", async () => {
    const window = (session: TestSession, more: Partial<HistoryQuery> = {}) =>
      rowsOf(session, (object) => object.readHistory({ view: "history", order: "asc", limit: 200, max_bytes: 20_000, ...more }));
    const cold = async (session: TestSession) => {
      await evictDurableObject(session.stub);
      return rowsOf(session, (object) => object.readHistory({ view: "history", order: "desc", limit: 1 }));
    };
    const [short, long] = [await window(small), await window(large)];
    expect(short.read).toBeLessThan(60);
    expect(long).toEqual(short);
    for (const session of [small, large]) expect((await window(session, { truncate_older: 8 })).read).toBeLessThan(80);
    const [coldShort, coldLong] = [await cold(small), await cold(large)];
    expect(coldShort.read).toBeLessThan(30);
    expect(coldLong).toEqual(coldShort);
  });

  test("of a plain append are two written, and one read to see that the id is new, whatever the length", async () => {
    for (const session of [small, large]) {
      await append(session, [message("warm")]);
      const rows = await rowsOf(session, (object) => object.append({ messages: [message("next")], ...WRITE }));
      expect(rows).toEqual({ read: 1, written: 2 });
    }
  });

  test("of a branch are two more, and its reads are by key", async () => {
    const branch = await rowsOf(large, (object) =>
      object.append({ messages: [message("branch")], parent_id: "m50-500", ...WRITE }),
    );
    expect(branch.written).toBe(4);
    expect(branch.read).toBeLessThan(20);
  });

  test("of an edit are four written, of an edit that changes nothing none", async () => {
    const edited = await put(large, message("m40-7", "another text"));
    expect(edited.written).toBe(4);
    expect(edited.read).toBeLessThan(40);
    expect((await put(large, message("m40-7", "another text"))).written).toBe(0);
  });

  test("of a deletion are few, however much hangs below", async () => {
    const input = { ids: ["m30-3"], idempotency: { key: "k", fingerprint: "" }, ...WRITE };
    const deleted = await rowsOf(large, (object) => object.deleteMessages(input));
    expect(deleted.written).toBeLessThanOrEqual(6);
    expect(deleted.read).toBeLessThan(30);
  });

  test("of branches and one message are by key", async () => {
    const branches = await rowsOf(large, (object) => object.listBranches({ id: "m50-500", limit: 10 }));
    expect(branches.read).toBeLessThan(30);
    expect((await rowsOf(large, (object) => object.getMessage({ id: "m50-500" }))).read).toBeLessThan(10);
  });
});

test("a hundred thousand messages stream whole and in order, a window at a time", async () => {
  const session = await filled(LARGE);
  await evictDurableObject(session.stub);
  const stream = valueOf(await session.rpc().streamHistory({ view: "history", order: "asc" }));
  const decoder = new TextDecoder();
  let [lines, largest, rest] = [0, 0, ""];
  for await (const chunk of stream as ReadableStream<Uint8Array> & AsyncIterable<Uint8Array>) {
    largest = Math.max(largest, chunk.byteLength);
    const whole = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = whole.pop() ?? "";
    for (const line of whole) {
      expect(line.startsWith(`{"id":"m${Math.floor(lines / BATCH)}-${lines % BATCH}"`)).toBe(true);
      lines += 1;
    }
  }
  expect([lines, rest]).toEqual([LARGE, ""]);
  expect(largest).toBeLessThan(4 * 1024 * 1024);
});

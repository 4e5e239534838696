import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { estimateMessage } from "@sessionplane/engine/tokens/estimate";
import type { HistoryItem, HistoryOrder, HistoryPage, HistoryPlace, HistoryQuery } from "@sessionplane/shared/rpc/session-rpc";
import { RULES, type TestSession, append, conversation, errorOf, message, opened, usage, valueOf } from "../testing/session.ts";

const RAW = { view: "raw", order: "asc", limit: 100 } as const;

const read = async (session: TestSession, query: Partial<HistoryQuery> = {}): Promise<HistoryPage> =>
  valueOf(await session.rpc().readHistory({ ...RAW, ...query }));
const idsOf = (items: readonly HistoryItem[]): string[] => items.map((item) => item.meta.id);

/** Every page, in the order asked for. */
async function readAll(session: TestSession, query: Partial<HistoryQuery>): Promise<HistoryItem[]> {
  const items: HistoryItem[] = [];
  for (let after: HistoryPlace | null | undefined = query.after; after !== null;) {
    const page = await read(session, { ...query, ...(after === undefined ? {} : { after }) });
    items.push(...page.items);
    after = page.next;
  }
  return items;
}

async function streamed(session: TestSession, query: { order?: HistoryOrder; view?: "raw" | "history" }): Promise<string[]> {
  const stream = valueOf(await session.rpc().streamHistory({ ...RAW, ...query }));
  const text = await new Response(stream).text();
  return text.split("\n").slice(0, -1);
}

/** Insert, with the parent as an index into what is there (null: a root, undefined: the leaf). */
type Step = { readonly parent: number | null | undefined; readonly count: number; readonly spend: boolean };
const steps = fc.array(
  fc.record({
    parent: fc.option(fc.option(fc.nat(200), { nil: undefined, freq: 2 }), { nil: null, freq: 8 }),
    count: fc.integer({ min: 1, max: 3 }),
    spend: fc.boolean(),
  }),
  { minLength: 1, maxLength: 14 },
);

/** The tree as plain parent pointers. */
type Model = { readonly parents: Map<string, string | null>; leaf: string | null };
function pathOf({ parents }: Model, leaf: string): string[] {
  const path: string[] = [];
  for (let at: string | null = leaf; at !== null; at = parents.get(at) ?? null) path.unshift(at);
  return path;
}

async function grow(session: TestSession, plan: readonly Step[]): Promise<Model> {
  const model: Model = { parents: new Map(), leaf: null };
  for (const [step, { parent, count, spend }] of plan.entries()) {
    const ids = [...model.parents.keys()];
    const chosen = parent === undefined || (parent !== null && ids.length === 0) ? model.leaf : parent;
    const below = typeof chosen === "number" ? (ids[chosen % ids.length] ?? null) : chosen;
    const messages = conversation(count, 5 + step, `s${step}_`);
    await append(session, messages, parent === undefined ? {} : { parent_id: below });
    messages.forEach(({ id }, index) => model.parents.set(id, index === 0 ? below : (messages[index - 1]?.id ?? null)));
    model.leaf = messages.at(-1)?.id ?? null;
    // Another kind of fact between the messages: their numbers are not consecutive.
    if (spend) valueOf(await session.rpc().recordUsage({ events: [usage(`u${step}`)] }));
  }
  return model;
}

type Overlay = { readonly from: string; readonly to: string; readonly seq: number };

/** Overlays as later issues will make them: put into the table behind the object's back. */
async function addOverlays(session: TestSession, model: Model, overlays: readonly Overlay[]): Promise<void> {
  await runInDurableObject(session.stub, (_instance, state) => {
    const seqOf = (id: string) => state.storage.sql.exec<{ seq: number }>("SELECT seq FROM messages WHERE id = ?", id).one().seq;
    for (const { from, to, seq } of overlays) {
      const path = pathOf(model, to);
      const messages = path.length - path.indexOf(from);
      const tokens = path.slice(path.indexOf(from)).length;
      state.storage.sql.exec(
        `INSERT INTO overlays (seq, id, from_seq, to_seq, from_id, to_id, summary, messages, tokens_before, tokens_after, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[seq, `ovl_${seq}`, seqOf(from), seqOf(to), from, to, `summary ${seq}`, messages, tokens, 1, seq],
      );
    }
  });
  await evictDurableObject(session.stub);
}

/** The history by the rule itself: overlays wholly on the path, the longest first, the newest of equals. */
function expectedHistory(path: readonly string[], overlays: readonly Overlay[]): string[] {
  const ranges = overlays
    .map(({ from, to, seq }) => ({ seq, start: path.indexOf(from), end: path.indexOf(to) }))
    .filter(({ start, end }) => start !== -1 && end !== -1)
    .toSorted((a, b) => b.end - b.start - (a.end - a.start) || b.seq - a.seq);
  const shown: (string | null)[] = [...path];
  const covered = new Set<number>();
  for (const { seq, start, end } of ranges) {
    const indexes = Array.from({ length: end - start + 1 }, (_, offset) => start + offset);
    if (indexes.some((index) => covered.has(index))) continue;
    for (const index of indexes) {
      covered.add(index);
      shown[index] = index === start ? `compaction_ovl_${seq}` : null;
    }
  }
  return shown.filter((id) => id !== null);
}

describe("paths", () => {
  test("are those of a tree of parent pointers, whatever the branches", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (plan) => {
        const session = await opened();
        const model = await grow(session, plan);
        for (const id of model.parents.keys()) {
          const page = await read(session, { leaf_id: id });
          const path = pathOf(model, id);
          expect(idsOf(page.items)).toEqual(path);
          expect(page.items.map((item) => item.meta.parent_id)).toEqual(path.map((one) => model.parents.get(one)));
          expect(page.total_content_bytes).toBe(page.items.reduce((sum, item) => sum + item.meta.bytes, 0));
        }
        const newestFirst = await read(session, { order: "desc" });
        expect(newestFirst.leaf_id).toBe(model.leaf);
        expect(idsOf(newestFirst.items).toReversed()).toEqual(pathOf(model, model.leaf ?? ""));
        expect(newestFirst.items.toReversed()).toEqual((await read(session)).items);
      }),
      { numRuns: 50 },
    );
  });

  test("show overlays in place of their ranges, in pages of any size, both orders and the stream", async () => {
    const picks = fc.array(fc.tuple(fc.nat(100), fc.nat(100)), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(steps, picks, fc.integer({ min: 1, max: 4 }), async (plan, chosen, limit) => {
        const session = await opened();
        const model = await grow(session, plan);
        const ids = [...model.parents.keys()];
        const overlays = chosen.map(([a, b], index): Overlay => {
          const to = ids[a % ids.length] ?? "";
          const path = pathOf(model, to);
          return { from: path[b % path.length] ?? "", to, seq: 1_000 + index };
        });
        await addOverlays(session, model, overlays);
        const path = pathOf(model, model.leaf ?? "");
        const expected = expectedHistory(path, overlays);
        expect(idsOf(await readAll(session, { view: "history", limit }))).toEqual(expected);
        expect(idsOf(await readAll(session, { view: "history", limit, order: "desc" }))).toEqual(expected.toReversed());
        expect(idsOf(await readAll(session, { limit }))).toEqual(path);
        const lines = await streamed(session, { view: "history" });
        expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(expected);
      }),
      { numRuns: 25 },
    );
  });
});

test("an overlay stands as a message with its own time and what it stands for", async () => {
  const session = await opened();
  const messages = conversation(6);
  const { token_estimate: before } = await append(session, messages);
  const model: Model = { parents: new Map(messages.map(({ id }, i) => [id, messages[i - 1]?.id ?? null])), leaf: "m5" };
  await addOverlays(session, model, [{ from: "m1", to: "m3", seq: 500 }]);
  const page = await read(session, { view: "history" });
  expect(idsOf(page.items)).toEqual(["m0", "compaction_ovl_500", "m4", "m5"]);
  expect(JSON.parse(page.items[1]?.json ?? "")).toMatchObject({
    role: "assistant",
    parts: [{ type: "text", text: "summary 500" }],
    metadata: { overlay: { id: "ovl_500", from_id: "m1", to_id: "m3", messages: 3, tokens_before: 3, tokens_after: 1 } },
  });
  expect(page.items[1]?.meta).toMatchObject({ parent_id: "m0", created_at: new Date(500).toISOString() });
  const after = await append(session, [message("m6")]);
  expect(after.token_estimate).toBe(before - 3 + 1 + estimateMessage(message("m6")));
});

describe("a recent window", () => {
  test("is the longest run that fits, and says when it left something out", async () => {
    const session = await opened();
    await append(session, conversation(10, 10));
    const whole = await read(session, { max_tokens: 100 });
    const part = await read(session, { max_tokens: 35 });
    expect([whole.items.length, whole.truncated]).toEqual([10, false]);
    expect([idsOf(part.items), part.truncated]).toEqual([["m7", "m8", "m9"], true]);
    const bytes = part.items.reduce((sum, item) => sum + item.meta.bytes, 0);
    expect(idsOf((await read(session, { max_bytes: bytes })).items)).toEqual(["m7", "m8", "m9"]);
    expect(idsOf((await read(session, { max_bytes: bytes - 1 })).items)).toEqual(["m8", "m9"]);
  });

  test("always has the newest message", async () => {
    const session = await opened();
    await append(session, conversation(3));
    expect(idsOf((await read(session, { max_bytes: 1 })).items)).toEqual(["m2"]);
  });
});

describe("a stream", () => {
  test("has the messages of the pages, thousands of them, in both orders", async () => {
    const session = await opened();
    const messages = conversation(3_000, 20);
    for (let at = 0; at < messages.length; at += 1_000) await append(session, messages.slice(at, at + 1_000));
    const paged = (await readAll(session, {})).map((item) => item.json);
    expect(paged).toEqual(messages.map((one) => JSON.stringify(one)));
    expect(await streamed(session, {})).toEqual(paged);
    expect(await streamed(session, { order: "desc" })).toEqual(paged.toReversed());
  });

  test("of an empty session is empty", async () => {
    expect(await streamed(await opened(), {})).toEqual([]);
  });

  test("stops when its reader cancels, and the object serves on", async () => {
    const session = await opened();
    await append(session, conversation(1_000, 400));
    const reader = valueOf(await session.rpc().streamHistory(RAW)).getReader();
    expect((await reader.read()).done).toBe(false);
    await reader.cancel();
    expect((await read(session)).items.length).toBe(100);
  });
});

test("a page stays within its bytes, unless one message alone is larger", async () => {
  const session = await opened();
  const large = (id: string) => message(id, "x".repeat(3_000_000));
  for (const one of [large("a"), large("b"), message("c", "y".repeat(5_000_000)), large("d")]) await append(session, [one]);
  const pages: string[][] = [];
  for (let after: HistoryPlace | null | undefined; after !== null;) {
    const page = await read(session, after === undefined ? {} : { after });
    pages.push(idsOf(page.items));
    after = page.next;
  }
  expect(pages).toEqual([["a"], ["b"], ["c"], ["d"]]);
});

test("an unknown leaf is refused by its parameter", async () => {
  const session = await opened();
  const expected = { code: "unknown_leaf", errors: [{ pointer: "?leaf_id" }] };
  expect(errorOf(await session.rpc().readHistory({ ...RAW, leaf_id: "x" }))).toMatchObject(expected);
  expect(errorOf(await session.rpc().streamHistory({ ...RAW, leaf_id: "x" }))).toMatchObject(expected);
  expect(errorOf(await session.rpc().getMessage({ id: "x" })).code).toBe("not_found");
});

describe("a page that goes on after a compaction around the place where it stood", () => {
  test.each(["asc", "desc"] as const)("shows in %s order what it had not shown yet, as it was written", async (order) => {
    const session = await opened();
    const messages = conversation(10);
    await append(session, messages);
    const first = await read(session, { view: "history", order, limit: 4 });
    const model: Model = { parents: new Map(messages.map(({ id }, i) => [id, messages[i - 1]?.id ?? null])), leaf: "m9" };
    await addOverlays(session, model, [{ from: "m2", to: "m7", seq: 500 }]);
    const rest = await readAll(session, {
      view: "history",
      order,
      limit: 4,
      ...(first.next === null ? {} : { after: first.next }),
    });
    const ids = [...idsOf(first.items), ...idsOf(rest)];
    expect(order === "asc" ? ids : ids.toReversed()).toEqual(messages.map((one) => one.id));
  });
});

test("a path of many short runs reads in order, in pages, both ways and as a stream", async () => {
  const session = await opened();
  // Two branches in turn: every message begins a run of its own.
  await append(session, [message("root")]);
  const tips: Record<string, string> = { a: "root", b: "root" };
  for (let index = 0; index < 300; index++) {
    for (const branch of ["a", "b"]) {
      const id = `${branch}${index}`;
      await append(session, [message(id)], { parent_id: tips[branch] ?? null });
      tips[branch] = id;
    }
  }
  const expected = ["root", ...Array.from({ length: 300 }, (_, index) => `b${index}`)];
  expect(idsOf(await readAll(session, { limit: 100 }))).toEqual(expected);
  expect(idsOf(await readAll(session, { limit: 100, order: "desc" })).toReversed()).toEqual(expected);
  expect((await streamed(session, {})).map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(expected);
});

describe("a database that is nearly full", () => {
  test("takes no more content, says so, and still gives back and forgets what it has", async () => {
    const session = await opened();
    await append(session, [message("a"), message("b")]);
    await evictDurableObject(session.stub);
    await runInDurableObject(session.stub, async (instance, { storage }) => {
      const size = vi
        .spyOn(Object.getPrototypeOf(storage.sql) as SqlStorage, "databaseSize", "get")
        .mockReturnValue(9_499_999_000);
      const write = { source: "server", rules: RULES } as const;
      const refused = await instance.append({ messages: [message("c", "x".repeat(2_000))], ...write });
      const edited = await instance.putMessage({ message: message("a", "x".repeat(2_000)), ...write });
      expect([refused, edited].map((result) => !result.ok && result.error.code)).toEqual(["session_full", "session_full"]);
      expect((await instance.readHistory(RAW)).ok).toBe(true);
      const deleted = await instance.deleteMessages({ ids: ["b"], idempotency: { key: "k", fingerprint: "" }, ...write });
      expect(deleted.ok).toBe(true);
      size.mockRestore();
    });
    expect(idsOf((await read(session)).items)).toEqual(["a"]);
  });
});

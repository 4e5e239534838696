import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { newId } from "@sessionplane/shared/ids";
import type { TextFact } from "@sessionplane/shared/queue/fact";
import type { IndexFact, IndexPage, IndexQuery, TenantSearchRpc, TextStretch } from "@sessionplane/shared/rpc/tenant-search-rpc";

const ANY_TIME = { from: 0, before: Number.MAX_SAFE_INTEGER };
const SESSION = "ses_a";

/** The index of a tenant that no other test has. */
function fresh() {
  const stub = env.TENANT_SEARCH.getByName(newId("tenant"));
  // The platform's RPC types lose unions; the contract is the one that the class implements.
  return { stub, rpc: stub as unknown as TenantSearchRpc };
}

const search = (rpc: TenantSearchRpc, q: string, rest: Partial<IndexQuery> = {}): Promise<IndexPage> =>
  rpc.search({ q, limit: 100, created: ANY_TIME, ...rest });
const found = async (rpc: TenantSearchRpc, q: string, rest: Partial<IndexQuery> = {}): Promise<string[]> =>
  (await search(rpc, q, rest)).hits.map((hit) => `${hit.session_id} ${hit.seq}`).toSorted();

const textFact = (seq: number, text: string, rest: Partial<TextFact> = {}): TextFact => ({
  ...{ kind: "text", seq, message_seq: seq, role: "user", created_at: 1_000 + seq, text },
  ...rest,
});
const stretch = (after: number, to: number, facts: readonly IndexFact[] = [], session = SESSION): TextStretch => ({
  ...{ session_id: session, after_seq: after, to_seq: to, facts },
});
const through = async (rpc: TenantSearchRpc): Promise<number | undefined> =>
  (await search(rpc, "x", { session_id: SESSION })).complete_through[0]?.seq;

describe("the index", () => {
  test("stores nothing while it is only asked", async () => {
    const { stub, rpc } = fresh();
    expect(await search(rpc, "x", { session_id: SESSION })).toEqual({
      hits: [],
      next: null,
      complete_through: [],
      applied_at: null,
    });
    const tables = await runInDurableObject(stub, (_instance, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'").toArray(),
    );
    expect(tables).toEqual([]);
  });

  test("finds by words, session, role and time, and goes on page by page, also after an eviction", async () => {
    const { stub, rpc } = fresh();
    await rpc.apply([
      stretch(0, 9, [textFact(2, "red apples"), textFact(3, "green apple", { role: "assistant" }), textFact(4, "用户喜欢咖啡")]),
      stretch(0, 9, [textFact(2, "an apple")], "ses_b"),
    ]);
    await evictDurableObject(stub);
    expect(await found(rpc, "apple")).toEqual(["ses_a 2", "ses_a 3", "ses_b 2"]);
    expect(await found(rpc, "喜欢")).toEqual(["ses_a 4"]);
    expect(await found(rpc, "apple", { session_id: "ses_b" })).toEqual(["ses_b 2"]);
    expect(await found(rpc, "apple", { role: "assistant" })).toEqual(["ses_a 3"]);
    expect(await found(rpc, "apple", { created: { from: 1_003, before: 1_004 } })).toEqual(["ses_a 3"]);
    expect(await found(rpc, '"')).toEqual([]);
    const pages: IndexPage[] = [];
    for (let after: IndexPage["next"] | undefined; after !== null;) {
      const page: IndexPage = await search(rpc, "apple", { limit: 1, ...(after && { after }) });
      pages.push(page);
      after = page.next;
    }
    expect(new Set(pages.flatMap((page) => page.hits.map((hit) => `${hit.session_id} ${hit.seq}`))).size).toBe(3);
    expect(pages.length).toBe(3);
  });

  test("lets no older text overwrite a newer one, a deletion or a clear", async () => {
    const { rpc } = fresh();
    const older = stretch(0, 4, [textFact(2, "old"), textFact(3, "old"), textFact(4, "old")]);
    const newer = stretch(4, 8, [textFact(5, "new", { message_seq: 2 }), { kind: "removal", seq: 6, message_seqs: [3] }]);
    await rpc.apply([newer]);
    await rpc.apply([older]);
    expect(await found(rpc, "old")).toEqual(["ses_a 4"]);
    expect(await found(rpc, "new")).toEqual(["ses_a 2"]);
    await rpc.apply([stretch(8, 10, [textFact(10, "last"), { kind: "clear", seq: 9, first_seq: 10 }])]);
    await rpc.apply([older, newer, older]);
    for (const gone of ["old", "new"]) expect(await found(rpc, gone)).toEqual([]);
    expect(await found(rpc, "last")).toEqual(["ses_a 10"]);
  });

  test("holds nothing of an erased session, whatever comes late, and all of the others", async () => {
    const { rpc } = fresh();
    const texts = stretch(0, 3, [textFact(2, "heron"), textFact(3, "heron")]);
    await rpc.apply([texts, { ...texts, session_id: "ses_b" }]);
    await rpc.apply([stretch(3, 9, [{ kind: "clear", seq: 8, first_seq: 10 }])]);
    await rpc.apply([texts, stretch(2, 5, [textFact(4, "heron"), textFact(5, "heron", { message_seq: 2 })])]);
    expect(await found(rpc, "heron")).toEqual(["ses_b 2", "ses_b 3"]);
  });

  test("says how far a session's log is in it without a gap, in whatever order it came", async () => {
    const { rpc } = fresh();
    await rpc.apply([stretch(10, 20), stretch(20, 30)]);
    expect(await through(rpc)).toBe(0);
    await rpc.apply([stretch(0, 5)]);
    expect(await through(rpc)).toBe(5);
    await rpc.apply([stretch(40, 50)]);
    await rpc.apply([stretch(3, 12)]);
    expect(await through(rpc)).toBe(30);
    await rpc.apply([stretch(0, 2)]);
    expect(await through(rpc)).toBe(30);
    await rpc.apply([stretch(30, 41)]);
    expect(await through(rpc)).toBe(50);
  });

  test("is the same whatever order the facts come in, and how often", { timeout: 120_000 }, async () => {
    const words = ["red", "green", "blue"] as const;
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant("add" as const), word: fc.constantFrom(...words) }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant("edit" as const), at: fc.nat(), word: fc.constantFrom(...words) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("remove" as const), at: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear" as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 25 }),
        fc.array(fc.nat(), { maxLength: 40 }),
        async (steps, order) => {
          const { rpc } = fresh();
          const now = new Map<number, string>();
          const stretches: TextStretch[] = [];
          let seq = 1;
          for (const one of steps) {
            seq += 1;
            const present = [...now.keys()];
            const target =
              one.kind === "edit" || one.kind === "remove" ? present[one.at % Math.max(1, present.length)] : undefined;
            const facts: IndexFact[] = [];
            if (one.kind === "add") {
              now.set(seq, one.word);
              facts.push(textFact(seq, one.word));
            } else if (one.kind === "clear") {
              now.clear();
              facts.push({ kind: "clear", seq, first_seq: seq + 1 });
            } else if (target !== undefined && one.kind === "edit") {
              now.set(target, one.word);
              facts.push(textFact(seq, one.word, { message_seq: target }));
            } else if (target !== undefined) {
              now.delete(target);
              facts.push({ kind: "removal", seq, message_seqs: [target] });
            }
            stretches.push(stretch(seq - 1, seq, facts));
          }
          // Some more than once and early, then each: backwards.
          const repeated = order.flatMap((at) => stretches[at % stretches.length] ?? []);
          await rpc.apply(repeated);
          for (const one of stretches.toReversed()) await rpc.apply([one]);
          for (const word of words) {
            const expected = [...now].filter(([, text]) => text === word).map(([at]) => `${SESSION} ${at}`);
            expect(await found(rpc, word)).toEqual(expected.toSorted());
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("what is cleared", () => {
  const clear: IndexFact = { kind: "clear", seq: 3, first_seq: 5 };
  /** All that the index holds of words, as they stand in its blocks: a word shares its beginning with the one before. */
  const blocks = (stub: ReturnType<typeof fresh>["stub"]): Promise<string> =>
    runInDurableObject(stub, (_instance, { storage: { sql } }) => {
      const rows = sql.exec<{ block: ArrayBuffer }>("SELECT block FROM search_index_data").toArray();
      return rows.map(({ block }) => Buffer.from(block).toString("latin1")).join("\n");
    });

  test("leaves no word in the index once it has forgotten, and what is left is found", async () => {
    const { stub, rpc } = fresh();
    const many = Array.from({ length: 400 }, (_, index) => textFact(index + 1, `harmless ${index} ${"word ".repeat(index)}`));
    await rpc.apply([stretch(0, 2, [textFact(1, "the quixotic heron")]), stretch(0, 400, many, "ses_b")]);
    expect(await blocks(stub)).toContain("uixot");
    await rpc.apply([stretch(2, 4, [clear])]);
    expect(await found(rpc, "quixotic")).toEqual([]);
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect(await blocks(stub)).not.toContain("uixot");
    expect((await found(rpc, "harmless")).length).toBe(100);
    expect(await runDurableObjectAlarm(stub)).toBe(false);
  });

  test("goes from an index that is full too", async () => {
    const { stub, rpc } = fresh();
    await rpc.apply([stretch(0, 2, [textFact(1, "heron"), textFact(2, "egret")])]);
    await runInDurableObject(stub, (instance) => void Object.assign(instance, { env: { MAX_DATABASE_BYTES: "1" } }));
    const removal: IndexFact = { kind: "removal", seq: 3, message_seqs: [2] };
    await rpc.apply([stretch(2, 3, [removal])]);
    expect([await found(rpc, "heron"), await found(rpc, "egret")]).toEqual([["ses_a 1"], []]);
    await rpc.apply([stretch(3, 6, [textFact(6, "stork"), { ...clear, seq: 4 }])]);
    expect([await found(rpc, "heron"), await found(rpc, "stork"), await through(rpc)]).toEqual([[], [], 2]);
  });
});

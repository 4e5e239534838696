import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SearchHit, SearchPage, SessionSearch } from "@sessionplane/shared/search";
import { type Rows, rowsOf } from "../testing/rows.ts";
import {
  RULES,
  type TestSession,
  append,
  conversation,
  errorOf,
  message,
  opened,
  unopened,
  valueOf,
} from "../testing/session.ts";

const ANY_TIME = { from: 0, before: Number.MAX_SAFE_INTEGER };
const WRITE = { source: "server", rules: RULES } as const;

const page = async (session: TestSession, q: string, rest: Partial<SessionSearch> = {}): Promise<SearchPage> =>
  valueOf(await session.rpc().search({ q, limit: 100, created: ANY_TIME, ...rest }));
const search = async (session: TestSession, q: string, rest: Partial<SessionSearch> = {}): Promise<readonly SearchHit[]> =>
  (await page(session, q, rest)).hits;
const found = async (session: TestSession, q: string, rest: Partial<SessionSearch> = {}): Promise<string[]> =>
  (await search(session, q, rest)).map((hit) => hit.message_id);

const put = (session: TestSession, id: string, text: string) =>
  session.rpc().putMessage({ message: message(id, text), ...WRITE });
const remove = (session: TestSession, ...ids: string[]) =>
  session.rpc().deleteMessages({ ids, idempotency: { key: ids.join(), fingerprint: "" }, ...WRITE });

const hasIndex = (session: TestSession): Promise<boolean> =>
  runInDurableObject(
    session.stub,
    (_instance, { storage }) => storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'search_index'").toArray().length > 0,
  );

const WORDS = (
  "deployments planned Friday running café Größe naïve straße données niño Москва городов Ελλάδα ΣΟΦΌΣ שלום מחשבים " +
  "السلام عليكم हिन्दी भाषा tiếng việt İstanbul x86 don't e-mail foo_bar C++ 3.14 HTTP/2 👍 generalizations iPhone手机很好"
).split(" ");
const CJK = ["用户喜欢咖啡", "東京都に住んでいます", "コーヒーを飲む", "안녕하세요 세계", "機械學習模型", "ร้านกาแฟ"];

/** Reproducible: failures can be looked at again. */
function randomTexts(count: number): string[] {
  let state = 42;
  const below = (limit: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * limit);
  };
  const pick = (list: readonly string[]): string => list[below(list.length)] ?? "";
  return Array.from({ length: count }, (_, index) =>
    [`unique${index}`, ...Array.from({ length: 3 + below(8) }, () => pick(below(4) === 0 ? CJK : WORDS))].join(
      pick([" ", ", ", "\n"]),
    ),
  );
}

describe("what is found", () => {
  test("is every message by each of its words, and by each part of its CJK text", { timeout: 120_000 }, async () => {
    const session = await opened();
    const texts = randomTexts(300);
    const half = texts.length / 2;
    const write = (from: number, to: number) =>
      append(
        session,
        texts.slice(from, to).map((text, index) => message(`m${from + index}`, text)),
      );
    await write(0, half);
    // The second half is written beside an index that is there already.
    expect(await found(session, "unique7")).toEqual(["m7"]);
    await write(half, texts.length);
    for (const [index] of texts.entries()) expect(await found(session, `unique${index}`)).toEqual([`m${index}`]);
    const parts = CJK.flatMap((text) => {
      const characters = [...text];
      return characters.flatMap((_, from) =>
        characters.slice(from).map((_c, length) => characters.slice(from, from + length + 1).join("")),
      );
    });
    for (const query of new Set([...WORDS, ...parts.filter((part) => part.trim() !== "")])) {
      const all = new Set<string>();
      let after: SearchPage["next"] = null;
      do {
        const { hits, next }: SearchPage = await page(session, query, after === null ? {} : { after });
        for (const hit of hits) all.add(hit.message_id);
        after = next;
      } while (after !== null);
      const missed = texts.flatMap((text, index) => (text.includes(query) && !all.has(`m${index}`) ? [`m${index}`] : []));
      expect({ query, missed }).toEqual({ query, missed: [] });
    }
  });

  test("is all terms anywhere, a phrase in a row, a beginning, another form of the word", async () => {
    const session = await opened();
    await append(session, [
      message("a", "on Friday we plan the deployment"),
      message("b", "deployed on Monday"),
      message("c", "we plan nothing"),
    ]);
    expect(await found(session, "deployment friday")).toEqual(["a"]);
    expect((await found(session, '"we plan"')).toSorted()).toEqual(["a", "c"]);
    expect(await found(session, '"plan we"')).toEqual([]);
    expect((await found(session, "deploy")).toSorted()).toEqual(["a", "b"]);
    expect(await found(session, "DÉPLOYMENT friday")).toEqual(["a"]);
    expect(await found(session, "deploying monday")).toEqual(["b"]);
    expect((await found(session, "deploym*")).toSorted()).toEqual(["a"]);
    expect((await found(session, "deploy*")).toSorted()).toEqual(["a", "b"]);
    expect(await found(session, "!!! ??")).toEqual([]);
  });

  test("is text alone, shown whole or its beginning, with its place and branch", async () => {
    const session = await opened();
    const parts = [
      { type: "reasoning", text: "secret" },
      { type: "text", text: "first line" },
      { type: "text", text: "second line" },
    ];
    await append(session, [{ id: "a", role: "assistant", parts }, message("long", `needle ${"word ".repeat(2_000)}`)]);
    await append(session, [message("branch", "second thoughts")], { parent_id: null });
    expect(await found(session, "secret")).toEqual([]);
    const [hit] = await search(session, "lines");
    expect(hit).toMatchObject({
      session_id: session.sessionId,
      role: "assistant",
      content: "first line\nsecond line",
      snippet: "first «line» second «line»",
      on_active_path: false,
    });
    expect((await search(session, "needle"))[0]?.content.length).toBe(4_000);
    expect(await found(session, "second", { on_active_path: true })).toEqual(["branch"]);
    expect(await found(session, "second", { leaf_id: "long" })).toEqual(["a"]);
    expect(await found(session, "second", { role: "user" })).toEqual(["branch"]);
    expect(await found(session, "second", { created: { from: 0, before: 1 } })).toEqual([]);
    expect(errorOf(await session.rpc().search({ q: "x", limit: 1, created: ANY_TIME, leaf_id: "none" })).code).toBe(
      "unknown_leaf",
    );
    expect(errorOf(await unopened().rpc().search({ q: "x", limit: 1, created: ANY_TIME })).code).toBe("not_found");
  });

  test("is a message of several rows by its first word and its last, written before the index and after", async () => {
    const session = await opened();
    const long = (word: string) => `${word}first ${"filling of many words ".repeat(150_000)} ${word}last`;
    await append(session, [message("before", long("old"))]);
    expect(await found(session, "oldfirst oldlast")).toEqual(["before"]);
    await append(session, [message("after", long("new"))]);
    const [hit] = await search(session, "newlast");
    expect([hit?.message_id, hit?.snippet.endsWith("«newlast»")]).toEqual(["after", true]);
    await put(session, "before", "short now");
    expect(await found(session, "oldlast")).toEqual([]);
  });

  test("comes page by page, each hit once, the best first", async () => {
    const session = await opened();
    await append(
      session,
      Array.from({ length: 25 }, (_, index) => message(`m${index}`, `apple ${"pear ".repeat(index % 5)}`)),
    );
    const hits: SearchHit[] = [];
    let after: SearchPage["next"] = null;
    do {
      const got: SearchPage = await page(session, "apple", { limit: 7, ...(after && { after }) });
      hits.push(...got.hits);
      after = got.next;
    } while (after !== null);
    expect(new Set(hits.map((hit) => hit.message_id)).size).toBe(25);
    expect(hits.map((hit) => hit.score)).toEqual(hits.map((hit) => hit.score).toSorted((a, b) => b - a));
    expect(hits[0]?.message_id).toBe("m20");
  });
});

describe("the index", () => {
  test("follows edits, deletions and a clear, whenever it was made", async () => {
    for (const first of [true, false]) {
      const session = await opened();
      await append(session, [message("a", "apple"), message("b", "banana"), message("c", "cherry")]);
      if (first) await found(session, "x");
      expect(await hasIndex(session)).toBe(first);
      await put(session, "a", "apricot");
      await remove(session, "b");
      await append(session, [message("d", "date")]);
      for (const gone of ["apple", "banana"]) expect(await found(session, gone)).toEqual([]);
      expect([await found(session, "apricot"), await found(session, "cherry"), await found(session, "date")]).toEqual([
        ["a"],
        ["c"],
        ["d"],
      ]);
      await evictDurableObject(session.stub);
      valueOf(await session.rpc().clearMessages({ source: "server", idempotency: { key: "c", fingerprint: "" } }));
      expect(await found(session, "cherry")).toEqual([]);
      await append(session, [message("e", "cherry again")]);
      expect(await found(session, "cherry")).toEqual(["e"]);
    }
  });

  test("is made while others write, and misses none of it", { timeout: 120_000 }, async () => {
    const session = await opened({ compaction: { automatic: false } });
    const filling = "filling ".repeat(100_000);
    for (let at = 0; at < 10; at++) await append(session, [message(`m${at}`, `apple${at} ${filling}`)]);
    const searching = found(session, "apple9");
    const writes = [
      put(session, "m0", "pear"),
      put(session, "m8", "plum"),
      remove(session, "m1"),
      remove(session, "m7"),
      append(session, [message("new", "cherry")]),
    ];
    await Promise.all(writes);
    expect(await searching).toEqual(["m9"]);
    for (const gone of ["apple0", "apple1", "apple7", "apple8"]) expect(await found(session, gone)).toEqual([]);
    expect([await found(session, "pear"), await found(session, "plum"), await found(session, "cherry")]).toEqual([
      ["m0"],
      ["m8"],
      ["new"],
    ]);
  });

  test("is made anew when it is of other words", async () => {
    const session = await opened();
    await append(session, [message("a", "apple"), message("b", "banana")]);
    expect(await found(session, "apple")).toEqual(["a"]);
    await runInDurableObject(session.stub, (_instance, { storage }) => {
      storage.sql.exec("UPDATE search_state SET words = 0");
    });
    await evictDurableObject(session.stub);
    await put(session, "a", "apricot");
    await append(session, [message("c", "cherry")]);
    expect([await found(session, "apple"), await found(session, "apricot"), await found(session, "cherry")]).toEqual([
      [],
      ["a"],
      ["c"],
    ]);
  });

  test("is right after any series of writes", { timeout: 120_000 }, async () => {
    const id = fc.constantFrom("a", "b", "c", "d");
    const text = fc.constantFrom("red", "green", "blue", "red green", "咖啡", "");
    const step = fc.oneof(
      fc.record({ kind: fc.constant("put" as const), id, text }),
      fc.record({ kind: fc.constant("put" as const), id, text }),
      fc.record({ kind: fc.constant("remove" as const), id }),
      fc.record({ kind: fc.constant("clear" as const), key: fc.uuid() }),
      fc.record({ kind: fc.constant("search" as const) }),
      fc.record({ kind: fc.constant("evict" as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const session = await opened();
        const model = new Map<string, string>();
        for (const [index, one] of steps.entries()) {
          if (one.kind === "put") {
            valueOf(await put(session, one.id, one.text));
            model.set(one.id, one.text);
          } else if (one.kind === "remove") {
            const key = { key: String(index), fingerprint: "" };
            valueOf(await session.rpc().deleteMessages({ ids: [one.id], idempotency: key, ...WRITE }));
            model.delete(one.id);
          } else if (one.kind === "clear") {
            valueOf(await session.rpc().clearMessages({ source: "server", idempotency: { key: one.key, fingerprint: "" } }));
            model.clear();
          } else if (one.kind === "search") await found(session, "red");
          else {
            await session.rpc().describe(RULES);
            await evictDurableObject(session.stub);
          }
        }
        for (const word of ["red", "green", "blue", "啡"]) {
          const expected = [...model].filter(([, content]) => content.includes(word)).map(([key]) => key);
          expect((await found(session, word)).toSorted()).toEqual(expected.toSorted());
        }
      }),
      { numRuns: 40 },
    );
  });

  test("fails at no query", { timeout: 120_000 }, async () => {
    const session = await opened();
    await append(session, [message("a", 'a "b" c* NEAR OR AND NOT ( ) { } : ^ - + 咖啡 👍 \0 end')]);
    const operators = fc.constantFrom(
      '"',
      "*",
      "NEAR(",
      ")",
      "OR",
      "AND",
      "NOT",
      "{",
      "}",
      ":",
      "^",
      "-",
      "\0",
      "a",
      "咖",
      "👍",
      "\uD83D",
      " ",
    );
    const hostile = fc.array(operators, { maxLength: 30 }).map((pieces) => pieces.join(""));
    await fc.assert(
      fc.asyncProperty(fc.oneof(hostile, fc.string({ unit: "binary", maxLength: 80 })), async (q) => {
        expect((await session.rpc().search({ q, limit: 5, created: ANY_TIME })).ok).toBe(true);
      }),
      { numRuns: 300 },
    );
    const words = Array.from({ length: 500 }, (_, index) => String.fromCharCode(97 + (index % 26))).join(" ");
    for (const q of [words, `"${words}"`, "咖".repeat(1_000), `${"x".repeat(999)}*`, '"a'.repeat(300)]) await page(session, q);
    expect(await found(session, "end")).toEqual(["a"]);
  });
});

describe("rows", () => {
  const cost = async (count: number): Promise<{ edit: Rows; removal: Rows }> => {
    const session = await opened({ compaction: { automatic: false } });
    for (let at = 0; at < count; at += 500) await append(session, conversation(500, 20, `c${at}-`));
    await found(session, "abcd");
    await append(session, [message("warm", "warm words")]);
    const edit = await rowsOf(session, (object) => object.putMessage({ message: message("c0-7", "other words"), ...WRITE }));
    const removal = await rowsOf(session, (object) =>
      object.deleteMessages({ ids: ["c0-9"], idempotency: { key: "k", fingerprint: "" }, ...WRITE }),
    );
    return { edit, removal };
  };

  test("of an append before the first search are two, as if there were no search", async () => {
    const session = await opened();
    await append(session, [message("a")]);
    const rows = await rowsOf(session, (object) => object.append({ messages: [message("b")], ...WRITE }));
    expect(rows.written).toBe(2);
    expect(await hasIndex(session)).toBe(false);
  });

  test("of an edit and a deletion do not grow with the session", { timeout: 120_000 }, async () => {
    const [small, large] = [await cost(500), await cost(20_000)];
    expect(large).toEqual(small);
    expect(large.edit.read).toBeLessThan(40);
    expect(large.removal.read).toBeLessThan(40);
  });
});

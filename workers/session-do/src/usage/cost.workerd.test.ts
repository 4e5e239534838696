import fc from "fast-check";
import { expect, test } from "vitest";
import { parseMoney } from "@sessionplane/shared/money";
import type { PendingFacts } from "@sessionplane/shared/rpc/usage-rpc";
import type { SessionUsage } from "@sessionplane/shared/session";
import type { OwnCost } from "@sessionplane/shared/session-cost";
import { pricedUsageSchema } from "@sessionplane/shared/usage-event";
import { type TestSession, RULES, append, errorOf, message, opened, unopened, usage, valueOf } from "../testing/session.ts";

const FIELDS = ["events", "input_tokens", "output_tokens", "unpriced_events"] as const;
type Numbers = readonly bigint[];
const numbersOf = (one: SessionUsage): Numbers => [
  ...FIELDS.map((name) => BigInt(one[name])),
  parseMoney(one.list_cost),
  parseMoney(one.cost),
];
const sumOf = (all: readonly SessionUsage[]): Numbers =>
  all.map(numbersOf).reduce((sum, one) => sum.map((value, index) => value + (one[index] ?? 0n)), [0n, 0n, 0n, 0n, 0n, 0n]);

const cost = async (session: TestSession): Promise<OwnCost> => valueOf(await session.rpc().readCost());
const totals = async (session: TestSession) => valueOf(await session.rpc().readUsage()).usage;

/** a → b → c, and beside c: d → e. */
async function tree(): Promise<TestSession> {
  const session = await opened();
  await append(session, [message("a"), message("b", "b", "assistant"), message("c")]);
  await append(session, [message("d"), message("e", "e", "assistant")], { parent_id: "b" });
  return session;
}

const ofMessage = (id: string, messageId: string | null, rest: object = {}) => usage(id, { message_id: messageId, ...rest });
const counts = (one: OwnCost) => one.by_branch.map((branch) => [branch.leaf_id, branch.on_path.events, branch.only_here.events]);

test("calls are split by branch: on the path, on this path alone, and at no message", async () => {
  const session = await tree();
  const events = [ofMessage("1", "b"), ofMessage("2", "c"), ofMessage("3", "e"), ofMessage("4", "e"), ofMessage("5", null)];
  valueOf(await session.rpc().recordUsage({ events: [...events, ofMessage("6", "never-there")] }));
  const split = await cost(session);
  expect(counts(split)).toEqual([
    ["e", 3, 2],
    ["c", 2, 1],
  ]);
  expect(split.by_branch.map(({ active }) => active)).toEqual([true, false]);
  expect([split.unattached.events, split.has_more]).toEqual([2, false]);
});

test("a message that is deleted takes its calls off the branches, and what hung below goes on", async () => {
  const session = await tree();
  valueOf(await session.rpc().recordUsage({ events: [ofMessage("1", "b"), ofMessage("2", "e"), ofMessage("3", "c")] }));
  const input = { ids: ["b"], source: "server" as const, rules: RULES, idempotency: { key: "k", fingerprint: "f" } };
  valueOf(await session.rpc().deleteMessages(input));
  const split = await cost(session);
  expect(counts(split)).toEqual([
    ["e", 1, 1],
    ["c", 1, 1],
  ]);
  expect(split.unattached.events).toBe(1);
});

test("more branches than are shown are said to be there, the newest shown", async () => {
  const session = await opened();
  await append(session, [message("root")]);
  for (let index = 0; index < 102; index++) await append(session, [message(`m${index}`)], { parent_id: "root" });
  valueOf(await session.rpc().recordUsage({ events: [ofMessage("1", "root"), ofMessage("2", "m101"), ofMessage("3", "m0")] }));
  const split = await cost(session);
  expect([split.by_branch.length, split.has_more]).toEqual([100, true]);
  expect(counts(split).slice(0, 2)).toEqual([
    ["m101", 2, 1],
    ["m100", 1, 0],
  ]);
});

test("once it is erased, the ledger's part is left", async () => {
  const session = await tree();
  const events = [ofMessage("1", "b", { user_id: "ann" }), ofMessage("2", null, { purpose: "compaction" })];
  valueOf(await session.rpc().recordUsage({ events }));
  const before = await cost(session);
  valueOf(await session.rpc().erase({}));
  const after = await cost(session);
  expect([after.own, after.compaction, after.by_user]).toEqual([before.own, before.compaction, before.by_user]);
  expect([after.by_branch, after.unattached.events]).toEqual([[], 2]);
  expect(valueOf(await session.rpc().explainUsage()).totals.events).toBe(2);
  expect(valueOf(await session.rpc().pendingFacts({})).batches.flatMap(({ facts }) => facts)).toMatchObject([
    { kind: "usage" },
    { kind: "usage" },
    { kind: "clear" },
    { kind: "session", status: "erased", usage: { events: 2 } },
  ]);
});

const lineArbitrary = fc.record({
  class: fc.constantFrom("input" as const, "output" as const),
  quantity: fc.nat(1_000),
  nano: fc.option(fc.nat(1_000_000)),
});
const eventArbitrary = fc.record({
  purpose: fc.constantFrom("turn" as const, "compaction" as const, "title" as const),
  user_id: fc.option(fc.constantFrom("ann", "bob")),
  message_id: fc.option(fc.constantFrom("a", "b", "c", "d", "e", "gone")),
  input_tokens: fc.nat(10_000),
  output_tokens: fc.nat(10_000),
  lines: fc.array(lineArbitrary, { minLength: 1, maxLength: 3 }),
  corrected: fc.boolean(),
});

const PRICE = { id: "prc_1", class: "input", femto_usd_per_token: 2_500_001, effective_from: 0, source: "test" } as const;

test("the parts add up to the session's totals, whatever was called and corrected", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(eventArbitrary, { maxLength: 25 }), async (all) => {
      const session = await tree();
      const events = all.map(({ lines, corrected: _corrected, ...rest }, index) =>
        usage(`e${index}`, {
          ...rest,
          lines: lines.map(({ nano, ...line }) => ({
            ...{ ...line, price: nano === null ? null : PRICE, list_nano: nano, billed_nano: nano === null ? null : nano + 7 },
          })),
        }),
      );
      if (events.length > 0) valueOf(await session.rpc().recordUsage({ events }));
      for (const [index, { corrected }] of all.entries()) {
        const idempotency = { key: `fix ${index}`, fingerprint: "" };
        const to = { lines: usage("x").lines, input_tokens: 1, output_tokens: 2, raw_usage: "{}" };
        if (corrected)
          valueOf(await session.rpc().adjustUsage({ event_id: `e${index}`, id: `fix${index}`, reason: "test", to, idempotency }));
      }
      const [split, whole] = [await cost(session), await totals(session)];
      const explained = valueOf(await session.rpc().explainUsage());
      expect(sumOf([split.own, split.compaction])).toEqual(numbersOf(whole));
      expect(sumOf(split.by_user.map(({ own }) => own))).toEqual(numbersOf(split.own));
      expect(sumOf(split.by_user.map(({ compaction }) => compaction))).toEqual(numbersOf(split.compaction));
      const [e, c] = split.by_branch;
      if (e === undefined || c === undefined) throw new Error("two leaves are two branches");
      const shared = numbersOf(e.on_path).map((value, index) => value - (numbersOf(e.only_here)[index] ?? 0n));
      expect(shared).toEqual(numbersOf(c.on_path).map((value, index) => value - (numbersOf(c.only_here)[index] ?? 0n)));
      const united = sumOf([e.on_path, c.only_here, split.unattached]);
      expect(united).toEqual(numbersOf(whole));
      expect(explained.totals).toMatchObject({
        ...{ events: whole.events, unpriced_events: whole.unpriced_events, cost: whole.cost, list_cost: whole.list_cost },
      });
      expect(explained.lines.reduce((sum, line) => sum + (line.list === null ? 0n : parseMoney(line.list)), 0n)).toBe(
        parseMoney(whole.list_cost),
      );
    }),
    { numRuns: 25 },
  );
});

test("what the catalog has not confirmed is told page by page, as often as it is asked for", async () => {
  const session = await opened();
  const raw = JSON.stringify({ note: "x".repeat(60_000) });
  const events = Array.from({ length: 12 }, (_, index) => usage(`e${index}`, { raw_usage: raw }));
  for (const event of events) valueOf(await session.rpc().recordUsage({ events: [event] }));
  const told = new Set<string>();
  let pages = 0;
  for (let after: number | null = 0; after !== null; pages++) {
    const page: PendingFacts = valueOf(await session.rpc().pendingFacts({ after }));
    for (const { facts } of page.batches)
      for (const fact of facts) if (fact.kind === "usage") told.add(pricedUsageSchema.parse(fact.event).id);
    after = page.next;
  }
  expect([told.size, pages > 1]).toEqual([12, true]);
});

test("a session that was never opened has no cost", async () => {
  expect(errorOf(await unopened().rpc().readCost()).code).toBe("not_found");
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CompactionPolicy, DEFAULT_COMPACTION_POLICY } from "@sessionplane/shared/compaction-policy";
import { type CompactionPlan, type PlanItem, planCompaction, shouldCompact } from "./plan.ts";

const message = (seq: number, tokens = 100, callIds: string[] = []): PlanItem => ({
  kind: "message",
  id: `m${seq}`,
  seq,
  tokens,
  callIds,
});
const chain = (length: number, tokens = 100): PlanItem[] => Array.from({ length }, (_, index) => message(index + 1, tokens));
const policy = (patch: Partial<CompactionPolicy> = {}): CompactionPolicy => ({
  ...DEFAULT_COMPACTION_POLICY,
  threshold: 1_000,
  keep_recent_tokens: 300,
  ...patch,
});
const overlay = (fromSeq: number, toSeq: number, tokens: number): PlanItem => ({
  kind: "overlay",
  overlayId: `o${fromSeq}-${toSeq}`,
  fromId: `m${fromSeq}`,
  toId: `m${toSeq}`,
  fromSeq,
  toSeq,
  messages: toSeq - fromSeq + 1,
  tokens,
});

describe("shouldCompact", () => {
  test("fires strictly above the threshold", () => {
    expect(shouldCompact(1_000, policy())).toBe(false);
    expect(shouldCompact(1_001, policy())).toBe(true);
  });
});

describe("planCompaction", () => {
  test("replaces the middle and keeps head and tail", () => {
    expect(planCompaction(chain(20), policy())).toMatchObject({
      kind: "compact",
      fromId: "m4",
      toId: "m17",
      messages: 14,
      tokens: 1_400,
      feeds: [],
    });
  });

  test("keeps the newest message even when it is larger than the tail's tokens", () => {
    const plan = planCompaction([...chain(12), message(13, 5_000)], policy({ min_tail: 1 }));
    expect(plan).toMatchObject({ kind: "compact", toId: "m12" });
  });

  test("swallows an earlier overlay and feeds it", () => {
    const items = [message(1), message(2), message(3), overlay(4, 20, 280), ...chain(14).map((_, index) => message(21 + index))];
    expect(planCompaction(items, policy())).toMatchObject({ kind: "compact", fromId: "m4", feeds: ["o4-20"], messages: 17 + 11 });
  });

  test.each([
    ["below the threshold", chain(10), {}, {}, "below_threshold"],
    ["when head and tail are all there is", chain(11, 400), { keep_recent_tokens: 900, min_tail: 9 }, {}, "too_short"],
    ["soon after the last compaction", chain(20), {}, { messagesSinceLast: 3 }, "cooldown"],
    [
      "when only an overlay lies between head and tail",
      [...chain(3), overlay(4, 90, 900), message(91), message(92)],
      {},
      {},
      "nothing_to_replace",
    ],
  ])("skips %s", (_name, items, patch, options, reason) => {
    expect(planCompaction(items, policy(patch), options)).toEqual({ kind: "skip", reason });
  });

  test("plans by hand whatever the threshold and the cooldown", () => {
    expect(planCompaction(chain(10), policy(), { force: true, messagesSinceLast: 0 }).kind).toBe("compact");
  });

  test("leaves pinned messages out and takes the larger side", () => {
    expect(planCompaction(chain(20), policy({ pinned: ["m6"] }))).toMatchObject({ fromId: "m7", toId: "m17" });
  });

  test("takes another stretch when the richest is one call and its results that reach into the tail", () => {
    const items = chain(20);
    items[6] = message(7, 4_000, ["c"]);
    items[19] = message(20, 100, ["c"]);
    expect(planCompaction(items, policy({ pinned: ["m6"], protect_head: 1 }))).toMatchObject({ fromId: "m2", toId: "m5" });
  });

  test("begins at an earlier overlay that the count of protected messages reaches", () => {
    const items = [message(1), overlay(2, 20, 200), ...Array.from({ length: 14 }, (_, index) => message(21 + index))];
    expect(planCompaction(items, policy())).toMatchObject({ fromId: "m2", fromSeq: 2, feeds: ["o2-20"] });
  });

  test("does not summarise a summary for the sake of a few messages", () => {
    const items = [
      ...chain(3),
      overlay(4, 90, 2_000),
      message(91),
      ...Array.from({ length: 3 }, (_, index) => message(92 + index)),
    ];
    expect(planCompaction(items, policy(), { force: true })).toEqual({ kind: "skip", reason: "min_gain" });
  });

  test("moves a boundary off a call whose result is further on, whatever the roles", () => {
    const items = chain(20);
    items[16] = message(17, 100, ["c"]);
    items[17] = message(18, 100, ["c"]);
    expect(planCompaction(items, policy())).toMatchObject({ toId: "m16" });
  });
});

type Row = { tokens: number; call: number | undefined; covers: number };

/** Some rows are overlays: they stand for a few seqs at once. */
const itemsFrom = (rows: readonly Row[]): PlanItem[] => {
  let seq = 0;
  return rows.map(({ tokens, call, covers }) => {
    const first = seq + 1;
    seq += covers === 0 ? 1 : covers;
    return covers === 0 ? message(first, tokens, call === undefined ? [] : [`c${call}`]) : overlay(first, seq, tokens);
  });
};
const anyItems = fc
  .array(
    fc.record({
      tokens: fc.integer({ min: 1, max: 600 }),
      call: fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined }),
      covers: fc.oneof({ weight: 12, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 9 }) }),
    }),
    { maxLength: 60 },
  )
  .map(itemsFrom);
const anyPolicy = fc
  .record({
    threshold: fc.integer({ min: 500, max: 5_000 }),
    keep_recent_tokens: fc.integer({ min: 0, max: 400 }),
    protect_head: fc.integer({ min: 0, max: 5 }),
    min_tail: fc.integer({ min: 1, max: 5 }),
    pinned: fc.array(
      fc.integer({ min: 1, max: 60 }).map((seq) => `m${seq}`),
      { maxLength: 3 },
    ),
  })
  .map(policy);

type Planned = {
  items: PlanItem[];
  rule: CompactionPolicy;
  plan: Extract<CompactionPlan, { kind: "compact" }>;
  start: number;
  range: PlanItem[];
};
const firstSeq = (item: PlanItem): number => (item.kind === "message" ? item.seq : item.fromSeq);

/** Every plan that compacts, with the items that it replaces. */
const forEveryPlan = (assertion: (planned: Planned) => void): void =>
  fc.assert(
    fc.property(anyItems, anyPolicy, (items, rule) => {
      const plan = planCompaction(items, rule);
      fc.pre(plan.kind === "compact");
      if (plan.kind !== "compact") return;
      const range = items.filter((item) => firstSeq(item) >= plan.fromSeq && firstSeq(item) <= plan.toSeq);
      assertion({ items, rule, plan, range, start: items.findIndex((item) => range.includes(item)) });
    }),
    { numRuns: 400 },
  );

describe("any plan", () => {
  test("keeps every call with its results", () =>
    forEveryPlan(({ items, range }) => {
      const callIds = (item: PlanItem): readonly string[] => (item.kind === "message" ? item.callIds : []);
      const inside = new Set(range.flatMap(callIds));
      const outside = items.filter((item) => !range.includes(item)).flatMap(callIds);
      expect(outside.filter((id) => inside.has(id))).toEqual([]);
    }));

  test("keeps the head, the tail and what is pinned", () =>
    forEveryPlan(({ items, range, rule, start }) => {
      const headless = items.slice(0, rule.protect_head).some((item) => item.kind === "overlay");
      if (!headless) expect(start).toBeGreaterThanOrEqual(rule.protect_head);
      const tail = items.slice(start + range.length);
      expect(tail.length).toBeGreaterThanOrEqual(rule.min_tail);
      expect(range.filter((item) => item.kind === "message" && rule.pinned.includes(item.id))).toEqual([]);
    }));

  test("names the ends of consecutive items, in order, and every overlay between them", () =>
    forEveryPlan(({ items, range, plan, start }) => {
      expect(items.slice(start, start + range.length)).toEqual(range);
      const overlays = range.flatMap((item) => (item.kind === "overlay" ? [item] : []));
      expect(plan.feeds).toEqual(overlays.map((item) => item.overlayId));
      expect(plan.tokens).toBe(range.reduce((sum, item) => sum + item.tokens, 0));
      expect(plan.messages).toBe(plan.toSeq - plan.fromSeq + 1);
    }));

  test("shrinks the history by more than an earlier summary weighs", () =>
    forEveryPlan(({ range, plan, rule }) => {
      const summarised = range.reduce((sum, item) => sum + (item.kind === "overlay" ? item.tokens : 0), 0);
      expect(summarised).toBeLessThan(plan.tokens * (1 - rule.min_gain) + Number.EPSILON * plan.tokens);
    }));

  test("is a fixed point once its summary stands, even for someone who asks by hand", () =>
    forEveryPlan(({ items, rule, plan, range, start }) => {
      fc.pre(rule.pinned.every((id) => !items.some((item) => item.kind === "message" && item.id === id)));
      const summary = overlay(plan.fromSeq, plan.toSeq, Math.floor(plan.tokens * rule.target_ratio));
      const after = [...items.slice(0, start), summary, ...items.slice(start + range.length)];
      expect(planCompaction(after, rule, { force: true }).kind).toBe("skip");
    }));
});

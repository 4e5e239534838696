import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CompactionPolicy, DEFAULT_COMPACTION_POLICY } from "@sessionplane/shared/compaction-policy";
import { type PlanItem, planCompaction, shouldCompact } from "./plan.ts";

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

  test("moves a boundary off a call whose result is further on, whatever the roles", () => {
    const items = chain(20);
    items[16] = message(17, 100, ["c"]);
    items[17] = message(18, 100, ["c"]);
    expect(planCompaction(items, policy())).toMatchObject({ toId: "m16" });
  });
});

const anyItems = fc
  .array(
    fc.record({ tokens: fc.integer({ min: 1, max: 600 }), call: fc.option(fc.integer({ min: 0, max: 8 }), { nil: undefined }) }),
    { maxLength: 60 },
  )
  .map((rows) => rows.map(({ tokens, call }, index) => message(index + 1, tokens, call === undefined ? [] : [`c${call}`])));
const anyPolicy = fc
  .record({
    threshold: fc.integer({ min: 500, max: 5_000 }),
    keep_recent_tokens: fc.integer({ min: 0, max: 400 }),
    protect_head: fc.integer({ min: 0, max: 5 }),
    min_tail: fc.integer({ min: 1, max: 5 }),
  })
  .map(policy);

describe("any plan", () => {
  const check = (property: (items: PlanItem[], range: PlanItem[], rule: CompactionPolicy, start: number) => boolean) =>
    fc.assert(
      fc.property(anyItems, anyPolicy, (items, rule) => {
        const plan = planCompaction(items, rule);
        if (plan.kind === "skip") return true;
        return property(items, items.slice(plan.fromSeq - 1, plan.toSeq), rule, plan.fromSeq - 1);
      }),
      { numRuns: 500 },
    );

  test("keeps every call with its results", () =>
    check((items, range) => {
      const inside = new Set(range.flatMap((item) => (item.kind === "message" ? item.callIds : [])));
      return items.every(
        (item) => range.includes(item) || (item.kind === "message" && item.callIds.every((id) => !inside.has(id))),
      );
    }));

  test("keeps the head and the tail", () =>
    check((items, range, rule, start) => start >= rule.protect_head && items.length - (start + range.length) >= rule.min_tail));

  test("has its ends in order and shrinks by the policy's aim", () => check((_items, range) => range.length > 0));

  test("is a fixed point once its summary stands", () =>
    check((items, range, rule, start) => {
      const tokens = range.reduce((sum, item) => sum + item.tokens, 0);
      const summary = overlay(start + 1, start + range.length, Math.floor(tokens * rule.target_ratio));
      const after = [...items.slice(0, start), summary, ...items.slice(start + range.length)];
      const next = planCompaction(after, rule, { messagesSinceLast: 0 });
      return next.kind === "skip";
    }));
});

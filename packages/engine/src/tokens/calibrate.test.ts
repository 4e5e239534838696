import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_COMPACTION_POLICY, compactionPolicySchema } from "@sessionplane/shared/compaction-policy";
import { calibratePolicy, calibrationFactor } from "./calibrate.ts";

describe("the factor", () => {
  test.each([
    [3_000, 2_000, 1.5],
    [1_000, 2_000, 1],
    [90_000, 2_000, 4],
    [5_000, 999, null],
    [0, 2_000, null],
  ])("of %d reported tokens where %d were estimated is %d", (reported, estimated, factor) => {
    expect(calibrationFactor(reported, estimated)).toBe(factor);
  });
});

describe("a policy in estimated tokens", () => {
  const policy = { ...DEFAULT_COMPACTION_POLICY, threshold: 100_000, keep_recent_tokens: 20_000 };

  test("has threshold and tail scaled alike", () => {
    expect(calibratePolicy(policy, 2)).toEqual({ ...policy, threshold: 50_000, keep_recent_tokens: 10_000 });
    expect(calibratePolicy(policy, 1)).toBe(policy);
  });

  test("never contradicts itself", () => {
    const sizes = fc.tuple(fc.integer({ min: 1, max: 1_000_000 }), fc.nat(1_000_000), fc.double({ min: 1, max: 4, noNaN: true }));
    fc.assert(
      fc.property(sizes, ([threshold, keep, factor]) => {
        const valid = { ...policy, threshold, keep_recent_tokens: Math.min(keep, threshold - 1) };
        expect(compactionPolicySchema.safeParse(calibratePolicy(valid, factor)).success).toBe(true);
      }),
    );
  });
});

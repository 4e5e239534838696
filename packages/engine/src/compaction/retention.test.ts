import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { estimateText } from "../tokens/estimate.ts";
import { measureRetention, restoreFacts } from "./retention.ts";

const SUMMARY = "## Topic\nA booking.\n\n## Facts\n- HAT123";

describe("measureRetention", () => {
  test("counts a fact where it stands as a whole", () => {
    const summary = "It was $120, 12.5 km, on HAT123x.";
    expect(measureRetention(["12", "120", "$120", "5", "HAT123"], summary)).toEqual({
      facts: 5,
      kept: 2,
      dropped: ["12", "5", "HAT123"],
    });
  });

  test("lists at most 200 of those dropped, and counts all", () => {
    const facts = Array.from({ length: 500 }, (_, index) => `F${index}`);
    const { dropped, ...counts } = measureRetention(facts, "");
    expect([counts, dropped.length]).toEqual([{ facts: 500, kept: 0 }, 200]);
  });
});

describe("restoreFacts", () => {
  test("leaves a summary that kept enough as it is", () => {
    expect(restoreFacts(SUMMARY, ["HAT123", "X9"], 0.5, 1_000)).toBe(SUMMARY);
  });

  test("adds the missing ones under Facts", () => {
    expect(restoreFacts(SUMMARY, ["HAT123", "X9", "Y8"], 0.9, 1_000)).toBe(`${SUMMARY}\n- X9; Y8`);
  });

  test("adds them where Facts are, whatever follows", () => {
    const summary = "## Facts\nNone.\n\n## Open Items\nNone.";
    expect(restoreFacts(summary, ["X9"], 0.9, 1_000)).toBe("## Facts\n- X9\n\n## Open Items\nNone.");
  });

  test("makes the section when there is none", () => {
    expect(restoreFacts("Short.", ["X9"], 0.9, 1_000)).toBe("Short.\n\n## Facts\n- X9");
  });

  test("puts back no quotation that would make a model take it for its own turn", () => {
    expect(restoreFacts("Short.", ["X9", "<tool_call>{}", "<|im_start|>system"], 0.9, 1_000)).toBe("Short.\n\n## Facts\n- X9");
  });

  test("never passes the limit, and prefers the newest", () => {
    const facts = Array.from({ length: 100 }, (_, index) => `FACT-${index}`);
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 300 }), (limit) => {
        const restored = restoreFacts(SUMMARY, facts, 0.9, limit);
        if (restored === SUMMARY) return;
        expect(estimateText(restored)).toBeLessThanOrEqual(limit);
        expect(restored).toContain("FACT-99");
      }),
    );
  });
});

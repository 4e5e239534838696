import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Range, contains, within } from "./runs.ts";

/** Ranges in order, with a gap between each two. */
const paths = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })), { maxLength: 8 })
  .map((steps) => {
    const path: Range[] = [];
    for (const [gap, length] of steps) {
      const first = (path.at(-1)?.last ?? 0) + gap + 1;
      path.push({ first, last: first + length - 1 });
    }
    return path;
  });

describe("a path as ranges", () => {
  test("holds what lies in one of them", () => {
    fc.assert(
      fc.property(paths, fc.nat(160), (path, seq) => {
        const seqs = path.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, index) => first + index));
        expect(contains(path, seq)).toBe(seqs.includes(seq));
      }),
    );
  });

  test("cut at two numbers is what lies between them", () => {
    fc.assert(
      fc.property(paths, fc.nat(160), fc.nat(160), (path, from, to) => {
        const cut = within(path, from, to);
        for (let seq = 0; seq <= 160; seq++) {
          expect(contains(cut, seq)).toBe(contains(path, seq) && seq >= from && seq <= to);
        }
      }),
      { numRuns: 50 },
    );
  });
});

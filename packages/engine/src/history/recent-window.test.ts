import fc from "fast-check";
import { expect, test } from "vitest";
import { take } from "./recent-window.ts";

const sized = fc.record({ bytes: fc.nat(100), tokens: fc.nat(100) });
const limits = fc.record({ count: fc.integer({ min: 1, max: 10 }), bytes: fc.nat(400), tokens: fc.nat(400) });
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

test("takes the longest run that fits, and always the first", () => {
  fc.assert(
    fc.property(fc.array(sized), limits, (reads, limit) => {
      const fits = (count: number): boolean =>
        count <= limit.count &&
        sum(reads.slice(0, count).map((read) => read.bytes)) <= limit.bytes &&
        sum(reads.slice(0, count).map((read) => read.tokens)) <= limit.tokens;
      const { taken, more } = take(reads, limit);
      expect(taken).toEqual(reads.slice(0, taken.length));
      expect(more).toBe(taken.length < reads.length);
      if (taken.length > 1) expect(fits(taken.length)).toBe(true);
      if (more) expect(fits(taken.length + 1)).toBe(false);
      expect(taken.length).toBeGreaterThanOrEqual(Math.min(1, reads.length));
    }),
  );
});

test("reads no further than the first that does not fit", () => {
  let read = 0;
  const endless = function* () {
    for (;;) yield { bytes: 1, tokens: (read += 1) };
  };
  take(endless(), { count: 3, bytes: 100, tokens: 100 });
  expect(read).toBe(4);
});

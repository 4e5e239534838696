import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Range, contains } from "../tree/runs.ts";
import { type OverlayRange, segments, standing } from "./apply-overlays.ts";

const PATH: readonly Range[] = [
  { first: 1, last: 10 },
  { first: 20, last: 30 },
];
const SEQS = PATH.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, index) => first + index));

const overlay = (seq: number, from_seq: number, to_seq: number): OverlayRange => ({
  seq,
  from_seq,
  to_seq,
  messages: SEQS.filter((one) => one >= from_seq && one <= to_seq).length,
});

/** Ends anywhere, on the path or beside it. */
const overlays = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 32 }), fc.integer({ min: 1, max: 32 })), { maxLength: 6 })
  .map((pairs) => pairs.map(([a, b], index) => overlay(100 + index, Math.min(a, b), Math.max(a, b))));

const covers = (one: OverlayRange, seq: number): boolean => seq >= one.from_seq && seq <= one.to_seq;

describe("standing overlays", () => {
  test("have both ends on the path, are in its order and never overlap", () => {
    fc.assert(
      fc.property(overlays, (all) => {
        const chosen = standing(all, PATH);
        for (const one of chosen) expect([SEQS.includes(one.from_seq), SEQS.includes(one.to_seq)]).toEqual([true, true]);
        for (const seq of SEQS) expect(chosen.filter((one) => covers(one, seq)).length).toBeLessThanOrEqual(1);
        expect(chosen).toEqual(chosen.toSorted((a, b) => a.from_seq - b.from_seq));
      }),
    );
  });

  test("leave out only what is off the path or beside one that covers as much", () => {
    fc.assert(
      fc.property(overlays, (all) => {
        const chosen = standing(all, PATH);
        for (const one of all) {
          if (chosen.includes(one) || !SEQS.includes(one.from_seq) || !SEQS.includes(one.to_seq)) continue;
          const beside = chosen.filter((other) => other.from_seq <= one.to_seq && other.to_seq >= one.from_seq);
          expect(Math.max(...beside.map((other) => other.messages))).toBeGreaterThanOrEqual(one.messages);
        }
      }),
    );
  });

  test("are the outer one of two that nest, and the newer of equals", () => {
    expect(standing([overlay(2, 2, 9), overlay(3, 3, 5)], PATH)).toEqual([overlay(2, 2, 9)]);
    expect(standing([overlay(3, 3, 5), overlay(4, 3, 5)], PATH)).toEqual([overlay(4, 3, 5)]);
    expect(standing([overlay(2, 5, 15)], PATH)).toEqual([]);
  });

  test("count messages and not numbers: a gap in the log makes no overlay longer", () => {
    const acrossTheGap = overlay(5, 9, 21);
    const inside = overlay(4, 1, 9);
    expect(standing([acrossTheGap, inside], PATH)).toEqual([inside]);
  });
});

test("segments are the path, each message once or covered by one overlay", () => {
  fc.assert(
    fc.property(overlays, (all) => {
      const chosen = standing(all, PATH);
      const shown = segments(PATH, chosen).flatMap((segment) =>
        segment.kind === "overlay"
          ? SEQS.filter((seq) => covers(segment.overlay, seq))
          : SEQS.filter((seq) => contains(segment.path, seq)),
      );
      expect(shown).toEqual(SEQS);
    }),
  );
});

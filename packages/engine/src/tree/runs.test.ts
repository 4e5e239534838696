import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Run, contains, pathTo, within } from "./runs.ts";

/** A tree whose node n has the parent `choices[n]` modulo the nodes before it; a number may stay unused. */
type Tree = { readonly parents: ReadonlyMap<number, number>; readonly runs: readonly Run[] };

/** The runs as the store makes them: a message below the newest one goes on, any other begins a run. */
function grow(choices: readonly { readonly pick: number; readonly gap: boolean }[]): Tree {
  const parents = new Map<number, number>();
  const runs: Run[] = [];
  let seq = 0;
  let newest = 0;
  for (const { pick, gap } of choices) {
    seq += gap ? 2 : 1;
    const known = [0, ...parents.keys()];
    const parent = pick % 3 === 0 ? newest : (known[pick % known.length] ?? 0);
    if (parent === 0 || parent !== newest) runs.push({ first: seq, parent });
    parents.set(seq, parent);
    newest = seq;
  }
  return { parents, runs };
}

const trees = fc.array(fc.record({ pick: fc.nat(500), gap: fc.boolean() }), { minLength: 1, maxLength: 60 }).map(grow);

function walk({ parents }: Tree, leaf: number): number[] {
  const path: number[] = [];
  for (let at = leaf; at !== 0; at = parents.get(at) ?? 0) path.unshift(at);
  return path;
}

const runAt =
  ({ runs }: Tree) =>
  (seq: number): Run =>
    runs.findLast((run) => run.first <= seq) ?? { first: seq, parent: 0 };

describe("a path as ranges", () => {
  test("has the messages that a walk from parent to parent finds", () => {
    fc.assert(
      fc.property(trees, (tree) => {
        for (const leaf of tree.parents.keys()) {
          const path = pathTo(leaf, runAt(tree));
          const seqs = [...tree.parents.keys()].filter((seq) => contains(path, seq));
          expect(seqs).toEqual(walk(tree, leaf));
        }
      }),
    );
  });

  test("is in order, without overlap", () => {
    fc.assert(
      fc.property(trees, (tree) => {
        const leaf = [...tree.parents.keys()].at(-1) ?? 0;
        const ends = pathTo(leaf, runAt(tree)).flatMap(({ first, last }) => [first, last + 0.5]);
        expect(ends).toEqual(ends.toSorted((a, b) => a - b));
        expect(new Set(ends).size).toBe(ends.length);
      }),
    );
  });

  test("cut at two numbers is what lies between them", () => {
    fc.assert(
      fc.property(trees, fc.nat(130), fc.nat(130), (tree, from, to) => {
        const leaf = [...tree.parents.keys()].at(-1) ?? 0;
        const path = pathTo(leaf, runAt(tree));
        const cut = within(path, from, to);
        for (let seq = 0; seq <= 130; seq++) {
          expect(contains(cut, seq)).toBe(contains(path, seq) && seq >= from && seq <= to);
        }
      }),
      { numRuns: 50 },
    );
  });

  test("of no leaf is empty", () => {
    expect(pathTo(0, () => ({ first: 1, parent: 0 }))).toEqual([]);
  });
});

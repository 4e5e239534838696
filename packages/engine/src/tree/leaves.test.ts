import fc from "fast-check";
import { expect, test } from "vitest";
import { leavesBelow } from "./leaves.ts";

/** Message n hangs below `parents[n - 1]`, an earlier one or 0. */
const treeArbitrary = fc
  .array(fc.tuple(fc.nat(), fc.boolean()), { maxLength: 40 })
  .map((many) => many.map(([parent, chains], index) => (chains ? index : parent % (index + 1))));

test("counts the leaves below each message as a walk up from every leaf does, for any tree", () => {
  fc.assert(
    fc.property(treeArbitrary, fc.infiniteStream(fc.boolean()), (parents, wanted) => {
      const seqs = parents.map((_, index) => index + 1);
      const leaves = seqs.filter((seq) => !parents.includes(seq));
      const runs = seqs.flatMap((seq) => {
        const parent = parents[seq - 1] ?? 0;
        return parent === seq - 1 && seq > 1 ? [] : [{ first: seq, parent }];
      });
      const walked = new Map<number, number>();
      for (const leaf of leaves) for (let at = leaf; at > 0; at = parents[at - 1] ?? 0) walked.set(at, (walked.get(at) ?? 0) + 1);
      const some = seqs.filter(() => wanted.next().value === true);
      expect(leavesBelow(runs, leaves, some)).toEqual(some.map((seq) => walked.get(seq) ?? 0));
    }),
  );
});

/** Paths as ranges of seq. Pure: `runAt` looks a run up. */
export type Run = { readonly first: number; readonly parent: number };
/** Both ends included. */
export type Range = { readonly first: number; readonly last: number };

/** The path to a leaf, root first. `runAt(seq)` is the run that holds seq; a parent of 0 is none. */
export function pathTo(leaf: number, runAt: (seq: number) => Run): Range[] {
  const ranges: Range[] = [];
  for (let at = leaf; at > 0;) {
    const run = runAt(at);
    ranges.push({ first: run.first, last: at });
    at = run.parent;
  }
  return ranges.reverse();
}

export const contains = (path: readonly Range[], seq: number): boolean =>
  path.some(({ first, last }) => seq >= first && seq <= last);

/** The part of the path with `from <= seq <= to`. */
export const within = (path: readonly Range[], from: number, to: number): Range[] =>
  path.flatMap(({ first, last }) => {
    const range = { first: Math.max(first, from), last: Math.min(last, to) };
    return range.first <= range.last ? [range] : [];
  });

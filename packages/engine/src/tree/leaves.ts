/** The leaves of the tree, and how many paths go through a place of it: what is on one alone is a branch's own. Pure. */
import type { Run, RunEnd } from "./runs.ts";

/** Every message that has none below it, oldest first. `nearest`: the message that stands for one that is gone. */
export function leavesOf(runs: readonly RunEnd[], nearest: (seq: number) => number): number[] {
  const inner = new Set<number>();
  const ends: number[] = [];
  for (const { parent_seq: parent, last, parent_stands: parentStands } of runs) {
    if (last === null) continue;
    ends.push(last);
    inner.add(parentStands === 1 ? parent : nearest(parent));
  }
  return ends.filter((seq) => !inner.has(seq)).toSorted((a, b) => a - b);
}

/** The run that holds a seq: the last that begins at or before it. -1: none does. */
function runAt(runs: readonly Run[], seq: number): number {
  let [low, high] = [0, runs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((runs[middle]?.first ?? Infinity) <= seq) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Where leaves are reached from each run: a leaf of its own, or the place at which a run with leaves was begun. */
function exitsOf(runs: readonly Run[], leaves: readonly number[]): { at: number; leaves: number }[] {
  const exits = leaves.map((at) => ({ at, leaves: 1 }));
  const inRun = runs.map(() => 0);
  const leave = (at: number, count: number): void => {
    const run = runAt(runs, at);
    inRun[run] = (inRun[run] ?? 0) + count;
  };
  for (const leaf of leaves) leave(leaf, 1);
  // A run is begun below an earlier one: from the newest on, each is complete when its turn comes.
  for (const [index, run] of [...runs.entries()].toReversed()) {
    const count = inRun[index] ?? 0;
    if (count === 0 || run.parent === 0) continue;
    exits.push({ at: run.parent, leaves: count });
    leave(run.parent, count);
  }
  return exits.toSorted((a, b) => b.at - a.at);
}

/** For each of `seqs`, in rising order, the leaves whose paths it is on. `runs` in order; a run ends where the next begins. */
export function leavesBelow(runs: readonly Run[], leaves: readonly number[], seqs: readonly number[]): number[] {
  const exits = exitsOf(runs, leaves);
  const below: number[] = [];
  let [next, run, count] = [0, runs.length, 0];
  for (const seq of seqs.toReversed()) {
    for (let exit = exits[next]; exit !== undefined && exit.at >= seq; exit = exits[++next]) {
      const of = runAt(runs, exit.at);
      if (of !== run) [run, count] = [of, 0];
      count += exit.leaves;
    }
    below.push(run === runAt(runs, seq) ? count : 0);
  }
  return below.reverse();
}

/** What the session cost: its own calls and its compaction's, by user and by branch. */
import { problem } from "@sessionplane/shared/problem";
import { type ExplainedCost, MAX_EXPLAINED_LINES, explainCost } from "@sessionplane/shared/explained-cost";
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { OwnCost } from "@sessionplane/shared/session-cost";
import type { Range } from "@sessionplane/engine/tree/runs";
import type { SessionStore } from "../session-store.ts";
import { NOTHING_SPENT, type Spent, type SpentAtMessage, type SpentByUser, minus, plus, toUsage } from "./ledger-sums.ts";

const MAX_BRANCHES = 100;

const sumOf = (all: readonly Spent[]): Spent => all.reduce(plus, NOTHING_SPENT);

type Purposes = Pick<OwnCost, "own" | "compaction">;
const byPurpose = (rows: readonly SpentByUser[]): Purposes => ({
  own: toUsage(sumOf(rows.filter(({ compaction }) => compaction === 0))),
  compaction: toUsage(sumOf(rows.filter(({ compaction }) => compaction === 1))),
});

const byUser = (rows: readonly SpentByUser[]): OwnCost["by_user"] =>
  [...Map.groupBy(rows, ({ user }) => user)].map(([user, ofUser]) => ({ user_id: user, ...byPurpose(ofUser) }));

type Attached = Spent & { readonly seq: number };
const isAttached = (row: SpentAtMessage): row is Attached => row.seq !== null;

/** Sums of the first n, for every n: what lies in a range is the difference of two. */
function runningSums(rows: readonly Spent[]): Spent[] {
  const sums = [NOTHING_SPENT];
  for (const row of rows) sums.push(plus(sums.at(-1) ?? NOTHING_SPENT, row));
  return sums;
}

/** How many of the rows, which are in order, are at messages before `seq`. */
function countBefore(rows: readonly Attached[], seq: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.seq ?? Infinity) < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

function onPath(rows: readonly Attached[], sums: readonly Spent[], path: readonly Range[]): Spent {
  const upTo = (seq: number): Spent => sums[countBefore(rows, seq)] ?? NOTHING_SPENT;
  return sumOf(path.map(({ first, last }) => minus(upTo(last + 1), upTo(first))));
}

function byBranch({ messages }: SessionStore, rows: readonly Attached[]): Pick<OwnCost, "by_branch" | "has_more"> {
  const leaves = messages.leaves();
  const seqs = rows.map(({ seq }) => seq);
  const below = messages.leavesBelow(seqs, leaves);
  const all = runningSums(rows);
  const exclusive = runningSums(rows.map((row, index) => (below[index] === 1 ? row : NOTHING_SPENT)));
  const active = messages.activeLeaf();
  const branches = leaves.slice(-MAX_BRANCHES).reverse();
  return {
    by_branch: branches.flatMap((leaf) => {
      const id = messages.idOf(leaf);
      const path = messages.pathTo(leaf);
      const spent = { on_path: toUsage(onPath(rows, all, path)), only_here: toUsage(onPath(rows, exclusive, path)) };
      return id === null ? [] : [{ leaf_id: id, active: leaf === active, ...spent }];
    }),
    has_more: leaves.length > branches.length,
  };
}

export function readCost(store: SessionStore): OwnCost {
  const users = store.sums.byUser();
  const messages = store.sums.byMessage();
  const unattached = messages.filter((row) => !isAttached(row));
  return {
    ...byPurpose(users),
    by_user: byUser(users),
    ...byBranch(store, messages.filter(isAttached)),
    unattached: toUsage(sumOf(unattached)),
  };
}

const TOO_LONG = problem("range_too_fine", `An explanation has at most ${MAX_EXPLAINED_LINES} lines; this one would have more.`);

/** From the ledger itself, which has every call, also the ones that the catalog has not yet or no longer. */
export function explainSession(store: SessionStore): Result<ExplainedCost, Problem> {
  const sums = store.sums.byPrice(MAX_EXPLAINED_LINES + 1);
  return sums.length > MAX_EXPLAINED_LINES ? err(TOO_LONG) : ok(explainCost(sums, false));
}

/** Searching a long session whose index is there, and keeping the index up to date in a long and in a short one. */
import { type Comparison, alternate } from "../measure.ts";
import { LARGE, REPETITIONS, SMALL, grouped } from "./sizes.ts";
import type { Engines } from "./three-engines.ts";

const SEARCHES = 5;
const EDITS = 200;
const nameOf = (count: number): string => `search-${count}`;

async function growth(engines: Engines, op: "edit" | "replace_one"): Promise<Comparison> {
  const work = (count: number) => ({ work: async () => void (await engines.ask("ours", nameOf(count), { op, times: EDITS })) });
  const [large = 0, small = 0] = await alternate(REPETITIONS, [work(LARGE), work(SMALL)]);
  const what = op === "edit" ? "edits" : "deletions, each with an append";
  const size = `${EDITS} ${what} with the index kept; ms in ${grouped(LARGE)} and in ${grouped(SMALL)} messages`;
  const name = `search_${op === "edit" ? "update" : "delete"}_16000_vs_1000`;
  return { name, ratio: large / small, aim: "≤ 1.2", ours_ms: large, baseline_ms: small, size, repetitions: REPETITIONS };
}

export async function search(engines: Engines): Promise<Comparison[]> {
  await engines.populate(["ours", "published"], [nameOf(LARGE)], "short", LARGE);
  await engines.populate(["ours"], [nameOf(SMALL)], "short", SMALL);
  const searching = (side: "ours" | "published") => ({
    work: async () => void (await engines.ask(side, nameOf(LARGE), { op: "search", times: SEARCHES })),
  });
  // The first search makes the index; the warm-up round is that one.
  const [ours = 0, published = 0] = await alternate(REPETITIONS, [searching("ours"), searching("published")]);
  await engines.ask("ours", nameOf(SMALL), { op: "search", times: 1 });
  const size = `${SEARCHES} searches for a word in ${grouped(LARGE)} messages, 20 hits each; ours with snippets`;
  const warm: Comparison = {
    name: "search_vs_published",
    ratio: published / ours,
    aim: "≥ 1",
    ours_ms: ours,
    baseline_ms: published,
    size,
    repetitions: REPETITIONS,
  };
  const results = [warm, await growth(engines, "edit"), await growth(engines, "replace_one")];
  await engines.drop(["ours", "published"], [nameOf(LARGE)]);
  await engines.drop(["ours"], [nameOf(SMALL)]);
  return results;
}

/** Planning in a long session over a bare walk of the rows that a plan is made of, in the same workerd. */
import type { Kind } from "../baselines/engine/work.ts";
import { grouped, sized } from "../engine/sizes.ts";
import { startEngines, type Engines } from "../engine/three-engines.ts";
import { type Comparison, alternate } from "../measure.ts";

const REPETITIONS = 9;
const PASSES = 3;
/** The size that the aim is about, and one in which every message is a tool call. */
const SIZES: readonly (readonly [kind: Kind, count: number])[] = [
  ["short", 100_000],
  ["tools", 16_000],
];

async function ofSize(engines: Engines, kind: Kind, count: number): Promise<Comparison> {
  const session = `plan-${kind}-${count}`;
  const sides = ["ours", "bare"] as const;
  await engines.populate(sides, [session], kind, count);
  const { messages } = await engines.ask("ours", session, { op: "plan", times: 1 });
  const work = (side: "ours" | "bare") => ({
    work: async () => void (await engines.ask(side, session, { op: "plan", times: PASSES })),
  });
  const [ours = 0, bare = 0] = await alternate(REPETITIONS, sides.map(work));
  await engines.drop(sides, [session]);
  return {
    name: `plan_${count}${kind === "short" ? "" : `_${kind}`}_vs_walk`,
    ratio: ours / bare,
    aim: "≤ 2",
    ours_ms: ours,
    baseline_ms: bare,
    size: `${PASSES} plans of ${sized(kind, count)}, each for ${grouped(messages)} messages, over as many walks of seq, id, tokens and call ids`,
    repetitions: REPETITIONS,
  };
}

export async function plan(): Promise<Comparison[]> {
  const engines = await startEngines();
  try {
    const results: Comparison[] = [];
    for (const [kind, count] of SIZES) results.push(await ofSize(engines, kind, count));
    return results;
  } finally {
    await engines.close();
  }
}

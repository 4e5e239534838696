/** The first call of an object that was evicted. Several objects a timing, so that the way in weighs less. */
import type { Side } from "../baselines/engine/work.ts";
import { type Comparison, type Timed, alternate } from "../measure.ts";
import { LARGE, REPETITIONS, grouped } from "./sizes.ts";
import type { Engines } from "./three-engines.ts";

const NAMES = Array.from({ length: 6 }, (_, index) => `cold-${index}`);

const first = (engines: Engines, side: Side, op: "leaf" | "append_one"): Timed => ({
  async before() {
    await engines.askEach(side, NAMES, { op: "settle" });
    await engines.evict(side, NAMES);
  },
  work: async () => void (await engines.askEach(side, NAMES, { op })),
});

export async function cold(engines: Engines): Promise<Comparison[]> {
  const sides = ["ours", "published"] as const;
  await engines.populate(sides, NAMES, "short", LARGE);
  const against = async (name: string, op: "leaf" | "append_one", what: string): Promise<Comparison> => {
    const [ours = 0, published = 0] = await alternate(
      REPETITIONS,
      sides.map((side) => first(engines, side, op)),
    );
    const size = `${what} of ${NAMES.length} evicted objects of ${grouped(LARGE)} messages, one after the other`;
    return { name, ratio: published / ours, aim: "≥ 2", ours_ms: ours, baseline_ms: published, size, repetitions: REPETITIONS };
  };
  const results = [
    await against("cold_open_vs_published", "leaf", "the latest leaf"),
    await against("cold_append_vs_published", "append_one", "the first append"),
  ];
  await engines.drop(sides, NAMES);
  return results;
}

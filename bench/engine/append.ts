/** One message a call of the engine, into a session of the round's own; its one commit is in the time. */
import type { Kind } from "../baselines/engine/work.ts";
import { type Comparison, type Rate, alternate, ofRates, perSecond } from "../measure.ts";
import { REPETITIONS, SIZES, baselinesFor, grouped, named, sized } from "./sizes.ts";
import type { Engines } from "./three-engines.ts";

const NAMES = { bare: "engine_append_vs_bare", published: "append_vs_published" } as const;

async function ofSize(engines: Engines, kind: Kind, count: number): Promise<Comparison[]> {
  const baselines = baselinesFor(count);
  await engines.prepare(kind, count);
  const medians = await alternate(
    REPETITIONS,
    (["ours", ...baselines] as const).map((side) => engines.appends(side, kind, count)),
  );
  await engines.forget();
  const [ours = { ms: 0, amount: 0 }, ...theirs] = medians.map((ms): Rate => ({ ms, amount: count }));
  return theirs.map((rate, place) => {
    const baseline = baselines[place] ?? "bare";
    return {
      name: named(NAMES[baseline], kind, count),
      ...(baseline === "bare" ? { aim: "≥ 0.8" } : {}),
      ...ofRates(ours, rate),
      size: `${sized(kind, count)}; ${grouped(perSecond(ours))} and ${grouped(perSecond(rate))} appends/s`,
      repetitions: REPETITIONS,
    };
  });
}

export async function append(engines: Engines): Promise<Comparison[]> {
  const results: Comparison[] = [];
  for (const [kind, count] of SIZES) results.push(...(await ofSize(engines, kind, count)));
  return results;
}

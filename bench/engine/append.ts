/** One message a call of the engine, into a session of the round's own. */
import type { Kind } from "../baselines/engine/work.ts";
import { type Comparison, compareRates } from "../measure.ts";
import { MAX_PUBLISHED, REPETITIONS, SIZES, grouped, named, sized } from "./sizes.ts";
import type { Engines } from "./three-engines.ts";

async function against(
  engines: Engines,
  baseline: "bare" | "published",
  name: string,
  kind: Kind,
  count: number,
): Promise<Comparison> {
  const prefix = `append-${baseline}-${kind}-${count}`;
  return compareRates(
    named(name, kind, count),
    { ours: count, baseline: count },
    (ours, theirs) => `${sized(kind, count)}; ${grouped(ours)} and ${grouped(theirs)} appends/s`,
    REPETITIONS,
    engines.appends("ours", prefix, kind, count),
    engines.appends(baseline, prefix, kind, count),
  );
}

export async function append(engines: Engines): Promise<Comparison[]> {
  const results: Comparison[] = [];
  for (const [kind, count] of SIZES) {
    await engines.prepare(kind, count);
    const bare = await against(engines, "bare", "engine_append_vs_bare", kind, count);
    results.push({ ...bare, aim: "≥ 0.8" });
    if (count <= MAX_PUBLISHED) results.push(await against(engines, "published", "append_vs_published", kind, count));
    await engines.forget();
  }
  return results;
}

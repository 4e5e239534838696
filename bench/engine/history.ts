/**
 * The whole history, drained inside the object: NDJSON from ours and from the bare object, parsed messages
 * from the published engine, which gives nothing else. Its path ends at 10,001 messages, so the rates are
 * of the bytes that each returned.
 */
import type { Kind, Side } from "../baselines/engine/work.ts";
import { type Comparison, compareRates } from "../measure.ts";
import { MAX_PUBLISHED, REPETITIONS, SIZES, grouped, named, sized } from "./sizes.ts";
import type { Engines } from "./three-engines.ts";

/** One pass over a small history is too short to be timed alone. */
const BYTES_PER_TIMING = 12_000_000;
const MEGABYTE = 1_000_000;

async function against(
  engines: Engines,
  baseline: "bare" | "published",
  name: string,
  kind: Kind,
  count: number,
): Promise<Comparison> {
  const session = `history-${kind}-${count}`;
  const returned = (side: Side) => engines.ask(side, session, { op: "history", times: 1, count: true });
  const [ours, theirs] = [await returned("ours"), await returned(baseline)];
  const times = Math.ceil(BYTES_PER_TIMING / ours.bytes);
  const passes = (side: Side) => ({
    work: async () => void (await engines.ask(side, session, { op: "history", times, count: false })),
  });
  return compareRates(
    named(name, kind, count),
    { ours: ours.bytes * times, baseline: theirs.bytes * times },
    (oursPerSecond, theirsPerSecond) =>
      `${sized(kind, count)}; ${(oursPerSecond / MEGABYTE).toFixed(0)} and ${(theirsPerSecond / MEGABYTE).toFixed(0)} MB/s; ` +
      `returned ${grouped(ours.messages)} and ${grouped(theirs.messages)} messages`,
    REPETITIONS,
    passes("ours"),
    passes(baseline),
  );
}

export async function history(engines: Engines): Promise<Comparison[]> {
  const results: Comparison[] = [];
  for (const [kind, count] of SIZES) {
    const published = count <= MAX_PUBLISHED;
    const sides: readonly Side[] = published ? ["ours", "bare", "published"] : ["ours", "bare"];
    await engines.populate(sides, [`history-${kind}-${count}`], kind, count);
    results.push({ ...(await against(engines, "bare", "history_vs_bare", kind, count)), aim: "≥ 0.6" });
    if (published) results.push({ ...(await against(engines, "published", "history_vs_published", kind, count)), aim: "≥ 2.5" });
    await engines.drop(sides, [`history-${kind}-${count}`]);
  }
  return results;
}

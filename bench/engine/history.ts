/**
 * The whole history, drained inside the object: NDJSON from ours and from the bare object, parsed messages
 * from the published engine, which gives nothing else. Its path ends at 10,001 messages, so the rates are
 * of the bytes that each returned.
 */
import type { Done, Kind, Side } from "../baselines/engine/work.ts";
import { type Comparison, type Rate, alternate, ofRates, perSecond } from "../measure.ts";
import { REPETITIONS, SIZES, baselinesFor, grouped, named, sized } from "./sizes.ts";
import type { Engines } from "./three-engines.ts";

const NAMES = { bare: "history_vs_bare", published: "history_vs_published" } as const;
const AIMS = { bare: "≥ 0.6", published: "≥ 2.5" } as const;
/** One pass over a small history is too short to be timed alone. */
const BYTES_PER_TIMING = 12_000_000;

const megabytes = (rate: Rate): string => (perSecond(rate) / 1_000_000).toFixed(0);

type Pass = { readonly side: Side; readonly rate: Rate; readonly returned: Done };

async function passesOf(engines: Engines, session: string, sides: readonly Side[]): Promise<Pass[]> {
  const returned: Done[] = [];
  for (const side of sides) returned.push(await engines.ask(side, session, { op: "history", times: 1, count: true }));
  const times = Math.ceil(BYTES_PER_TIMING / (returned[0]?.bytes ?? 1));
  const works = sides.map((side) => ({
    work: async () => void (await engines.ask(side, session, { op: "history", times, count: false })),
  }));
  const medians = await alternate(REPETITIONS, works);
  return sides.map((side, place) => {
    const done = returned[place] ?? { messages: 0, bytes: 0 };
    return { side, rate: { ms: medians[place] ?? 0, amount: done.bytes * times }, returned: done };
  });
}

async function ofSize(engines: Engines, kind: Kind, count: number): Promise<Comparison[]> {
  const session = `history-${kind}-${count}`;
  const baselines = baselinesFor(count);
  const sides = ["ours", ...baselines] as const;
  await engines.populate(sides, [session], kind, count);
  const [ours, ...theirs] = await passesOf(engines, session, sides);
  await engines.drop(sides, [session]);
  if (ours === undefined) throw new Error("ours was not measured");
  return theirs.map(({ rate, returned }, place) => {
    const baseline = baselines[place] ?? "bare";
    return {
      name: named(NAMES[baseline], kind, count),
      aim: AIMS[baseline],
      ...ofRates(ours.rate, rate),
      size:
        `${sized(kind, count)}; ${megabytes(ours.rate)} and ${megabytes(rate)} MB/s; ` +
        `returned ${grouped(ours.returned.messages)} and ${grouped(returned.messages)} messages`,
      repetitions: REPETITIONS,
    };
  });
}

export async function history(engines: Engines): Promise<Comparison[]> {
  const results: Comparison[] = [];
  for (const [kind, count] of SIZES) results.push(...(await ofSize(engines, kind, count)));
  return results;
}

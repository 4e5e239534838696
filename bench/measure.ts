/** Timing: works in turn, A B A B, so that a drift of the machine meets all of them; medians and their ratio. */
export type Comparison = {
  readonly name: string;
  /** Above 1: ours is faster, unless `aim` begins with ≤: then a time over a time, and lower is better. */
  readonly ratio: number;
  readonly aim?: string;
  readonly ours_ms: number;
  readonly baseline_ms: number;
  /** Where the ratio is that of two rates: the two may have done different amounts of work. */
  readonly ours_per_s?: number;
  readonly baseline_per_s?: number;
  readonly size: string;
  readonly repetitions: number;
};

/** One of the works. What `before` does is not timed. */
export type Timed = { readonly before?: (round: number) => Promise<void>; readonly work: (round: number) => Promise<void> };

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};

/** The value below which so large a share of the values is. */
export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? 0;

async function timed({ before, work }: Timed, round: number): Promise<number> {
  await before?.(round);
  const started = performance.now();
  await work(round);
  return performance.now() - started;
}

const WARM_UPS = 1;

/** The median of each, in milliseconds, in the order given. */
export async function alternate(repetitions: number, works: readonly Timed[]): Promise<number[]> {
  const rounds: number[][] = [];
  for (let round = 0; round < repetitions + WARM_UPS; round++) {
    const times: number[] = [];
    for (const work of works) times.push(await timed(work, round));
    if (round >= WARM_UPS) rounds.push(times);
  }
  return works.map((_, place) => median(rounds.map((times) => times[place] ?? 0)));
}

export async function compare(
  name: string,
  size: string,
  repetitions: number,
  ours: Timed["work"],
  baseline: Timed["work"],
): Promise<Comparison> {
  const [oursMs = 0, baselineMs = 0] = await alternate(repetitions, [{ work: ours }, { work: baseline }]);
  return { name, ratio: baselineMs / oursMs, ours_ms: oursMs, baseline_ms: baselineMs, size, repetitions };
}

/** What one timing took, and how much it did of what the rate counts. */
export type Rate = { readonly ms: number; readonly amount: number };

export const perSecond = ({ ms, amount }: Rate): number => (amount * 1_000) / ms;

/** A comparison of rates. */
export const ofRates = (ours: Rate, baseline: Rate) => ({
  ratio: perSecond(ours) / perSecond(baseline),
  ours_ms: ours.ms,
  baseline_ms: baseline.ms,
  ours_per_s: perSecond(ours),
  baseline_per_s: perSecond(baseline),
});

/** Timing: two works in turn, A B A B, so that a drift of the machine meets both; medians and their ratio. */
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

/** One of the two works. What `before` does is not timed. */
export type Timed = { readonly before?: (round: number) => Promise<void>; readonly work: (round: number) => Promise<void> };

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};

async function timed({ before, work }: Timed, round: number): Promise<number> {
  await before?.(round);
  const started = performance.now();
  await work(round);
  return performance.now() - started;
}

const WARM_UPS = 1;

export type Medians = { readonly ours_ms: number; readonly baseline_ms: number };

/** The medians of both, in milliseconds. */
export async function alternate(repetitions: number, ours: Timed, baseline: Timed): Promise<Medians> {
  const times: { ours: number; baseline: number }[] = [];
  for (let round = 0; round < repetitions + WARM_UPS; round++) {
    const pair = { ours: await timed(ours, round), baseline: await timed(baseline, round) };
    if (round >= WARM_UPS) times.push(pair);
  }
  return { ours_ms: median(times.map((pair) => pair.ours)), baseline_ms: median(times.map((pair) => pair.baseline)) };
}

export async function compare(
  name: string,
  size: string,
  repetitions: number,
  ours: Timed["work"],
  baseline: Timed["work"],
): Promise<Comparison> {
  const medians = await alternate(repetitions, { work: ours }, { work: baseline });
  return { name, ratio: medians.baseline_ms / medians.ours_ms, ...medians, size, repetitions };
}

/** What one timing of each does, in whatever the rate counts. */
export type Amounts = { readonly ours: number; readonly baseline: number };

/** As `compare`, of rates. */
export async function compareRates(
  name: string,
  amounts: Amounts,
  describe: (oursPerSecond: number, baselinePerSecond: number) => string,
  repetitions: number,
  ours: Timed,
  baseline: Timed,
): Promise<Comparison> {
  const medians = await alternate(repetitions, ours, baseline);
  const oursPerSecond = (amounts.ours * 1_000) / medians.ours_ms;
  const baselinePerSecond = (amounts.baseline * 1_000) / medians.baseline_ms;
  const rates = { ours_per_s: oursPerSecond, baseline_per_s: baselinePerSecond };
  const size = describe(oursPerSecond, baselinePerSecond);
  return { name, ratio: oursPerSecond / baselinePerSecond, ...medians, ...rates, size, repetitions };
}

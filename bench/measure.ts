/** Timing: two works in turn, A B A B, so that a drift of the machine meets both; medians and their ratio. */
export type Comparison = {
  readonly name: string;
  /** Above 1: ours is faster. */
  readonly ratio: number;
  readonly ours_ms: number;
  readonly baseline_ms: number;
  readonly size: string;
  readonly repetitions: number;
};

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};

async function timed(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

const WARM_UPS = 1;

export async function compare(
  name: string,
  size: string,
  repetitions: number,
  ours: (round: number) => Promise<void>,
  baseline: (round: number) => Promise<void>,
): Promise<Comparison> {
  const times: { ours: number; baseline: number }[] = [];
  for (let round = 0; round < repetitions + WARM_UPS; round++) {
    const pair = { ours: await timed(() => ours(round)), baseline: await timed(() => baseline(round)) };
    if (round >= WARM_UPS) times.push(pair);
  }
  const oursMs = median(times.map((pair) => pair.ours));
  const baselineMs = median(times.map((pair) => pair.baseline));
  return { name, ratio: baselineMs / oursMs, ours_ms: oursMs, baseline_ms: baselineMs, size, repetitions };
}

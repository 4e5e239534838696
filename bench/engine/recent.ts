/** A window of the newest messages in a long session over the same in a short one: it must not grow with the session. */
import { type Comparison, alternate } from "../measure.ts";
import { LARGE, REPETITIONS, SMALL, grouped } from "./sizes.ts";
import type { Engines } from "./three-engines.ts";

const WINDOW_BYTES = 100_000;
const READS: Readonly<Record<"ours" | "published", number>> = { ours: 300, published: 20 };

const nameOf = (count: number): string => `recent-${count}`;

async function growth(engines: Engines, side: "ours" | "published", name: string): Promise<Comparison> {
  const read = (count: number, times: number) =>
    engines.ask(side, nameOf(count), { op: "recent", max_bytes: WINDOW_BYTES, times });
  const { messages } = await read(LARGE, 1);
  const reads = (count: number) => ({ work: async () => void (await read(count, READS[side])) });
  const [large = 0, small = 0] = await alternate(REPETITIONS, [reads(LARGE), reads(SMALL)]);
  const size = `${side}: ${READS[side]} windows of ${WINDOW_BYTES / 1_000} KB, ${messages} messages; ms in ${grouped(LARGE)} and in ${grouped(SMALL)} messages`;
  return { name, ratio: large / small, ours_ms: large, baseline_ms: small, size, repetitions: REPETITIONS };
}

export async function recent(engines: Engines): Promise<Comparison[]> {
  const sides = ["ours", "published"] as const;
  for (const count of [LARGE, SMALL]) await engines.populate(sides, [nameOf(count)], "short", count);
  const ours = await growth(engines, "ours", "recent_16000_vs_1000");
  const published = await growth(engines, "published", "published_recent_16000_vs_1000");
  await engines.drop(sides, [LARGE, SMALL].map(nameOf));
  return [{ ...ours, aim: "≤ 1.2" }, published];
}

/** `npm run bench -- NAME [PART…] [--json]`: ratios against a baseline that is measured in the same run. */
import { readOptions, stopWith } from "../scripts/options.ts";
import { table } from "../scripts/demo/terminal.ts";
import { api } from "./api.ts";
import { COMPACTION_PARTS, compaction } from "./compaction.ts";
import { engine, ENGINE_PARTS } from "./engine.ts";
import type { Comparison } from "./measure.ts";

const BENCHMARKS: Readonly<Record<string, (parts: readonly string[]) => Promise<Comparison[]>>> = {
  api,
  engine,
  compaction,
  search: () => engine(["search"]),
};

const HELP = `
Measures against a baseline in the same run. A ratio above 1: ours is faster than the baseline. Where the
aim begins with ≤ it is a time over a time, and lower is better.

  npm run bench -- NAME [PART…] [--json]

  NAME    ${Object.keys(BENCHMARKS).join(", ")}
  PART    all when none is named. Of engine: ${ENGINE_PARTS.join(", ")}.
          Of compaction: ${COMPACTION_PARTS.join(", ")}.
  --json  one object, for programs
`;

const { values, positionals } = readOptions(HELP, { json: { type: "boolean", default: false } });
const [name = "", ...parts] = positionals;
const benchmark = BENCHMARKS[name];
if (benchmark === undefined) stopWith(`there is no benchmark ${name || "without a name"}.\n${HELP}`);

// The workers would log to the standard output, which is the results' alone.
process.env.WRANGLER_LOG ??= "error";
const results = await benchmark(parts);
if (values.json) {
  process.stdout.write(`${JSON.stringify(Object.fromEntries(results.map(({ name: key, ...rest }) => [key, rest])))}\n`);
} else {
  const rows = results.map((one) => [
    one.name,
    one.ratio.toFixed(2),
    one.aim ?? "",
    one.ours_ms.toFixed(1),
    one.baseline_ms.toFixed(1),
    one.repetitions,
    one.size,
  ]);
  process.stdout.write(`${table(["name", "ratio", "aim", "ours ms", "baseline ms", "times", "what"], rows)}\n`);
}
process.exit(0);

/** `npm run bench -- NAME [--json]`: ratios against a baseline that is measured in the same run. */
import { readOptions, stopWith } from "../scripts/options.ts";
import { table } from "../scripts/demo/terminal.ts";
import { api } from "./api.ts";
import type { Comparison } from "./measure.ts";

const BENCHMARKS: Readonly<Record<string, () => Promise<Comparison[]>>> = { api };

const HELP = `
Measures against a baseline in the same run. A ratio above 1: ours is faster than the baseline.

  npm run bench -- NAME [--json]

  NAME    ${Object.keys(BENCHMARKS).join(", ")}
  --json  one object, for programs
`;

const { values, positionals } = readOptions(HELP, { json: { type: "boolean", default: false } });
const [name = ""] = positionals;
const benchmark = BENCHMARKS[name];
if (benchmark === undefined) stopWith(`there is no benchmark ${name || "without a name"}.\n${HELP}`);

// The workers would log to the standard output, which is the results' alone.
process.env.WRANGLER_LOG ??= "error";
const results = await benchmark();
if (values.json) {
  process.stdout.write(`${JSON.stringify(Object.fromEntries(results.map(({ name: key, ...rest }) => [key, rest])))}\n`);
} else {
  const rows = results.map((one) => [
    one.name,
    one.ratio.toFixed(2),
    one.ours_ms.toFixed(1),
    one.baseline_ms.toFixed(1),
    one.repetitions,
    one.size,
  ]);
  process.stdout.write(`${table(["name", "ratio", "ours ms", "baseline ms", "times", "what"], rows)}\n`);
}
process.exit(0);

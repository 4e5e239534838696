/** `npm run bench -- NAME [PART…] [--json]`: ratios against a baseline that is measured in the same run. */
import { readOptions, stopWith } from "../scripts/options.ts";
import { table } from "../scripts/demo/terminal.ts";
import { api } from "./api.ts";
import { COMPACTION_PARTS, compaction } from "./compaction.ts";
import { engine, ENGINE_PARTS } from "./engine.ts";
import { ledger } from "./ledger.ts";
import type { Comparison } from "./measure.ts";
import { retention } from "./retention.ts";

/** `print`: for what is more than a comparison; not for programs. */
type Benchmark = (parts: readonly string[], print: (text: string) => void) => Promise<Comparison[]>;

const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  api,
  engine,
  compaction,
  retention: (_parts, print) => retention(print),
  search: () => engine(["search"]),
  ledger,
};

const HELP = `
Measures against a baseline in the same run. A ratio above 1: ours is faster than the baseline. Where the
aim begins with ≤ it is a time over a time, and lower is better.

  npm run bench -- NAME [PART…] [--json]

  NAME    ${Object.keys(BENCHMARKS).join(", ")}
  PART    all when none is named. Of engine: ${ENGINE_PARTS.join(", ")}.
          Of compaction: ${COMPACTION_PARTS.join(", ")}. Of ledger: how many events.
  --json  one object, for programs
`;

const { values, positionals } = readOptions(HELP, { json: { type: "boolean", default: false } });
const [name = "", ...parts] = positionals;
const benchmark = BENCHMARKS[name];
if (benchmark === undefined) stopWith(`there is no benchmark ${name || "without a name"}.\n${HELP}`);

// The workers would log to the standard output, which is the results' alone.
process.env.WRANGLER_LOG ??= "error";
const results = await benchmark(parts, (text) => void (values.json || process.stdout.write(`${text}\n`)));
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

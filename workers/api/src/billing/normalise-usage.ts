/**
 * A usage report as counts of disjoint classes: each token counted once, in the class that its price is
 * for. Pure. Called for every event before it is priced. What is no count, or can be read in two ways, is
 * refused; what does not add up is read so that no token counts twice, and told.
 */
import { type FieldProblem, type Problem, problem } from "@sessionplane/shared/problem";
import { COUNTED_UNITS, TOKEN_CLASSES, type UsageClass } from "@sessionplane/shared/price";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { UsageCounts } from "@sessionplane/shared/usage-event";
import { UsageReader, type UsageReport, sum } from "./usage-reader.ts";
import { type UsageShape, shapesOf } from "./usage-shapes.ts";

/** Rises when the same report would be read differently: kept with each event. */
export const NORMALIZER_VERSION = 2;

export type NormalisedUsage = {
  readonly counts: UsageCounts;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** What of the report does not add up. */
  readonly inconsistent: readonly string[];
};

const CLASSES: readonly UsageClass[] = [...TOKEN_CLASSES, ...COUNTED_UNITS];
const INPUT_CLASSES: readonly UsageClass[] = ["input", "input_audio", "cache_read", "cache_write_5m", "cache_write_1h"];
const OUTPUT_CLASSES: readonly UsageClass[] = ["output", "reasoning", "output_audio"];

type Reading = { readonly name: string; readonly usage: NormalisedUsage; readonly errors: readonly FieldProblem[] };

function readAs(shape: UsageShape, report: UsageReport): Reading {
  const reader = new UsageReader(report);
  const counts = shape.read(reader);
  const inputTokens = sum(INPUT_CLASSES.map((name) => counts[name]));
  const outputTokens = sum(OUTPUT_CLASSES.map((name) => counts[name]));
  const stated = shape.total === undefined ? undefined : reader.count(shape.total);
  if (shape.total !== undefined && stated !== undefined && stated !== inputTokens + outputTokens) {
    reader.differs(shape.total, stated, inputTokens + outputTokens);
  }
  const { inconsistent, errors } = reader;
  return { name: shape.name, usage: { counts, inputTokens, outputTokens, inconsistent }, errors };
}

const UNKNOWN = problem(
  "invalid",
  "The usage is in no shape that is known here: AI SDK, OpenAI, Anthropic, Gemini, OpenTelemetry or our classes.",
  { errors: [{ pointer: "/usage", code: "unknown_shape", message: "no known token counts" }] },
);

const TOO_MANY = problem("invalid", "The counts add up to more than can be counted exactly.", {
  errors: [{ pointer: "/usage", code: "invalid_count", message: `add up to more than ${Number.MAX_SAFE_INTEGER}` }],
});

const describe = ({ name, usage: { counts } }: Reading): string =>
  `${name} (${CLASSES.flatMap((one) => (counts[one] ? [`${one} ${counts[one]}`] : [])).join(", ") || "nothing"})`;

/** `input_tokens` beside the cache fields of two families, or two families' totals that differ. */
function ambiguous(readings: readonly Reading[]): Problem {
  const message = `can be read as ${readings.map(describe).join(" or as ")}; send the fields of one`;
  return problem("ambiguous_usage", `The usage ${message}.`, {
    errors: [{ pointer: "/usage", code: "ambiguous_usage", message }],
  });
}

function refused(errors: readonly FieldProblem[]): Problem {
  const once = [...new Map(errors.map((error) => [error.pointer, error])).values()];
  const [first] = once;
  return problem("invalid", `${first?.pointer.slice(1) ?? "usage"} ${first?.message ?? "is not usage"}.`, { errors: once });
}

const agree = (a: Reading, b: Reading): boolean =>
  CLASSES.every((name) => (a.usage.counts[name] ?? 0) === (b.usage.counts[name] ?? 0));

/** Counts by class, or what is wrong. Pointers are relative to the event. Fields of no meaning here are let be. */
export function normaliseUsage(report: UsageReport): Result<NormalisedUsage, Problem> {
  const readings = shapesOf(report).map((shape) => readAs(shape, report));
  const [reading] = readings;
  if (reading === undefined) return err(UNKNOWN);
  const malformed = readings.flatMap((one) => one.errors);
  if (malformed.length > 0) return err(refused(malformed));
  if (!readings.every((one) => agree(one, reading))) return err(ambiguous(readings));
  const { counts, inputTokens, outputTokens } = reading.usage;
  const inconsistent = [...new Set(readings.flatMap((one) => one.usage.inconsistent))];
  return Number.isSafeInteger(inputTokens + outputTokens)
    ? ok({ counts, inputTokens, outputTokens, inconsistent })
    : err(TOO_MANY);
}

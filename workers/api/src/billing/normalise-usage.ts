/**
 * Usage as SDKs and providers report it, as counts of disjoint classes. Pure. The shapes differ in what
 * "input" means: a total that includes the cache (AI SDK, OpenAI, Gemini, OpenTelemetry) or what was not
 * cached (Anthropic). Sources: the providers' API references and OpenTelemetry's gen_ai conventions.
 */
import { type FieldProblem, type Problem, problem } from "@sessionplane/shared/problem";
import { COUNTED_UNITS, TOKEN_CLASSES, type UsageClass } from "@sessionplane/shared/price";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { UsageCounts } from "@sessionplane/shared/usage-event";

/** Rises when the same report would be read differently: kept with each event. */
export const NORMALIZER_VERSION = 1;

type Report = Readonly<Record<string, unknown>>;
export type NormalisedUsage = { readonly counts: UsageCounts; readonly inputTokens: number; readonly outputTokens: number };

const INPUT_CLASSES: readonly UsageClass[] = ["input", "input_audio", "cache_read", "cache_write_5m", "cache_write_1h"];
const OUTPUT_CLASSES: readonly UsageClass[] = ["output", "reasoning", "output_audio"];

const isReport = (value: unknown): value is Report => typeof value === "object" && value !== null && !Array.isArray(value);

/** Reads counts out of one report and gathers what is wrong with them. */
class Reader {
  readonly errors: FieldProblem[] = [];
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  /** The count at a path of keys; undefined when it is absent or null. */
  count(...path: string[]): number | undefined {
    let value: unknown = this.#report;
    for (const key of path) value = isReport(value) ? value[key] : undefined;
    if (value === undefined || value === null) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    this.errors.push({
      pointer: `/usage/${path.join("/")}`,
      code: "invalid_count",
      message: "must be a whole number of tokens, 0 or more",
    });
    return 0;
  }

  first(...paths: string[][]): number | undefined {
    for (const path of paths) {
      const found = this.count(...path);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** What is left of a total when its parts are taken out. */
  rest(total: number, parts: readonly (number | undefined)[], pointer: string): number {
    const left = total - sum(parts);
    if (left >= 0) return left;
    this.errors.push({
      pointer: `/usage/${pointer}`,
      code: "inconsistent_usage",
      message: `the parts add up to ${sum(parts)}, more than the total of ${total}`,
    });
    return 0;
  }
}

const sum = (counts: readonly (number | undefined)[]): number => counts.reduce<number>((total, count) => total + (count ?? 0), 0);

type Shape = {
  readonly name: string;
  readonly matches: (report: Report) => boolean;
  readonly read: (reader: Reader) => UsageCounts;
};

const hasAny =
  (...keys: string[]) =>
  (report: Report) =>
    keys.some((key) => key in report);

const OURS: Shape = {
  name: "sessionplane",
  matches: (report) => Object.keys(report).length > 0 && Object.keys(report).every((key) => isUsageClass(key)),
  read: (reader) => Object.fromEntries([...TOKEN_CLASSES, ...COUNTED_UNITS].map((name) => [name, reader.count(name)])),
};

const AI_SDK: Shape = {
  name: "AI SDK",
  matches: hasAny("inputTokens", "outputTokens"),
  read: (reader) => {
    const total = reader.count("inputTokens") ?? 0;
    const read = reader.first(["inputTokenDetails", "cacheReadTokens"], ["cachedInputTokens"]);
    const write = reader.count("inputTokenDetails", "cacheWriteTokens");
    const output = reader.count("outputTokens") ?? 0;
    const reasoning = reader.first(["outputTokenDetails", "reasoningTokens"], ["reasoningTokens"]);
    return {
      input: reader.rest(total, [read, write], "inputTokens"),
      cache_read: read,
      cache_write_5m: write,
      output: reader.rest(output, [reasoning], "outputTokens"),
      reasoning,
    };
  },
};

const OPENAI_CHAT: Shape = {
  name: "OpenAI",
  matches: hasAny("prompt_tokens", "completion_tokens"),
  read: (reader) => openAi(reader, "prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details"),
};

const OPENAI_RESPONSES: Shape = {
  name: "OpenAI Responses",
  matches: hasAny("input_tokens_details", "output_tokens_details"),
  read: (reader) => openAi(reader, "input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details"),
};

function openAi(reader: Reader, input: string, output: string, inputDetails: string, outputDetails: string): UsageCounts {
  const cached = reader.count(inputDetails, "cached_tokens");
  const audioIn = reader.count(inputDetails, "audio_tokens");
  const reasoning = reader.count(outputDetails, "reasoning_tokens");
  const audioOut = reader.count(outputDetails, "audio_tokens");
  return {
    input: reader.rest(reader.count(input) ?? 0, [cached, audioIn], input),
    cache_read: cached,
    input_audio: audioIn,
    output: reader.rest(reader.count(output) ?? 0, [reasoning, audioOut], output),
    reasoning,
    output_audio: audioOut,
  };
}

const ANTHROPIC: Shape = {
  name: "Anthropic",
  matches: hasAny("cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation"),
  read: (reader) => {
    const short = reader.count("cache_creation", "ephemeral_5m_input_tokens");
    const long = reader.count("cache_creation", "ephemeral_1h_input_tokens");
    const total = reader.count("cache_creation_input_tokens");
    return {
      input: reader.count("input_tokens"),
      cache_read: reader.count("cache_read_input_tokens"),
      cache_write_5m:
        short === undefined && long === undefined
          ? total
          : reader.rest(total ?? sum([short, long]), [long], "cache_creation_input_tokens"),
      cache_write_1h: long,
      output: reader.count("output_tokens"),
      web_search: reader.count("server_tool_use", "web_search_requests"),
    };
  },
};

const GEMINI: Shape = {
  name: "Gemini",
  matches: hasAny("promptTokenCount", "candidatesTokenCount"),
  read: (reader) => {
    const cached = reader.count("cachedContentTokenCount");
    return {
      input: reader.rest(reader.count("promptTokenCount") ?? 0, [cached], "promptTokenCount"),
      cache_read: cached,
      output: reader.count("candidatesTokenCount"),
      reasoning: reader.count("thoughtsTokenCount"),
    };
  },
};

const OPENTELEMETRY: Shape = {
  name: "OpenTelemetry",
  matches: hasAny("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
  read: (reader) => {
    const read = reader.count("gen_ai.usage.cache_read.input_tokens");
    const write = reader.count("gen_ai.usage.cache_creation.input_tokens");
    const reasoning = reader.count("gen_ai.usage.reasoning.output_tokens");
    return {
      input: reader.rest(reader.count("gen_ai.usage.input_tokens") ?? 0, [read, write], "gen_ai.usage.input_tokens"),
      cache_read: read,
      cache_write_5m: write,
      output: reader.rest(reader.count("gen_ai.usage.output_tokens") ?? 0, [reasoning], "gen_ai.usage.output_tokens"),
      reasoning,
    };
  },
};

/** `input_tokens` and `output_tokens` with no word of a cache: both readings agree. */
const PLAIN: Shape = {
  name: "plain",
  matches: hasAny("input_tokens", "output_tokens"),
  read: (reader) => ({ input: reader.count("input_tokens"), output: reader.count("output_tokens") }),
};

const SHAPES: readonly Shape[] = [AI_SDK, OPENAI_CHAT, GEMINI, OPENTELEMETRY, ANTHROPIC, OPENAI_RESPONSES, PLAIN, OURS];

const isUsageClass = (name: string): boolean => [...TOKEN_CLASSES, ...COUNTED_UNITS].some((known) => known === name);

const AMBIGUOUS = problem(
  "ambiguous_usage",
  "input_tokens stands beside cache fields of two families. Read as Anthropic's it excludes cached tokens; read as OpenAI's it includes them. Send the fields of one.",
  {
    errors: [
      {
        pointer: "/usage/input_tokens",
        code: "ambiguous_usage",
        message: "excludes the cache (Anthropic) or includes it (OpenAI)?",
      },
    ],
  },
);

const UNKNOWN = problem(
  "invalid",
  "The usage is in no shape that is known here: AI SDK, OpenAI, Anthropic, Gemini, OpenTelemetry or our classes.",
  {
    errors: [{ pointer: "/usage", code: "unknown_shape", message: "no known token counts" }],
  },
);

const total = (counts: UsageCounts, classes: readonly UsageClass[]): number => sum(classes.map((name) => counts[name]));

/** The caller's own sum, where the shape has one, must be ours. */
function checkTotal(report: Report, reader: Reader, all: number): void {
  for (const key of ["totalTokens", "total_tokens", "totalTokenCount"]) {
    const stated = key in report ? reader.count(key) : undefined;
    if (stated === undefined || stated === all) continue;
    reader.errors.push({
      pointer: `/usage/${key}`,
      code: "inconsistent_usage",
      message: `is ${stated}, but the classes add up to ${all}`,
    });
  }
}

/** Counts by class, each token once, or what is wrong. Pointers are relative to the event. */
export function normaliseUsage(report: Report): Result<NormalisedUsage, Problem> {
  if (ANTHROPIC.matches(report) && OPENAI_RESPONSES.matches(report)) return err(AMBIGUOUS);
  const shape = SHAPES.find((candidate) => candidate.matches(report));
  if (shape === undefined) return err(UNKNOWN);
  const reader = new Reader(report);
  const counts = shape.read(reader);
  const inputTokens = total(counts, INPUT_CLASSES);
  const outputTokens = total(counts, OUTPUT_CLASSES);
  checkTotal(report, reader, inputTokens + outputTokens);
  const [first] = reader.errors;
  if (first !== undefined) {
    const code = first.code === "inconsistent_usage" ? "inconsistent_usage" : "invalid";
    return err(problem(code, `${first.pointer}: ${first.message}`, { errors: reader.errors }));
  }
  if (!Number.isSafeInteger(inputTokens + outputTokens))
    return err(problem("invalid", "The counts add up to more than can be counted exactly."));
  return ok({ counts, inputTokens, outputTokens });
}

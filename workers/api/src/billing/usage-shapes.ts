/**
 * The shapes in which SDKs and providers report usage, each with its marks and its reading as disjoint
 * classes. Pure. They differ in what "input" means: a total that includes the cache (AI SDK, OpenAI, Gemini,
 * OpenTelemetry), or what was not cached (Anthropic). Sources: the providers' API references, the AI SDK's
 * `LanguageModelUsage`, OpenTelemetry's `gen_ai` conventions.
 */
import { COUNTED_UNITS, TOKEN_CLASSES } from "@sessionplane/shared/price";
import type { UsageCounts } from "@sessionplane/shared/usage-event";
import type { UsageReader, UsageReport } from "./usage-reader.ts";

export type UsageShape = {
  readonly name: string;
  readonly matches: (report: UsageReport) => boolean;
  readonly read: (reader: UsageReader) => UsageCounts;
  /** Where the shape has one, its own sum of everything. */
  readonly total?: string;
};

const has = (report: UsageReport, ...keys: string[]): boolean =>
  keys.some((key) => report[key] !== undefined && report[key] !== null);

const AI_SDK: UsageShape = {
  name: "AI SDK",
  matches: (report) => has(report, "inputTokens", "outputTokens"),
  total: "totalTokens",
  read: (reader) => {
    const read = reader.first(["inputTokenDetails", "cacheReadTokens"], ["cachedInputTokens"]);
    const write = reader.count("inputTokenDetails", "cacheWriteTokens");
    const reasoning = reader.first(["outputTokenDetails", "reasoningTokens"], ["reasoningTokens"]);
    const [plain, text] = [reader.count("inputTokenDetails", "noCacheTokens"), reader.count("outputTokenDetails", "textTokens")];
    return {
      ...reader.split("inputTokens", "input", { cache_read: read, cache_write_5m: write }, plain),
      ...reader.split("outputTokens", "output", { reasoning }, text),
    };
  },
};

/** What an embedding reports: there is no output. */
const AI_SDK_EMBEDDING: UsageShape = {
  name: "AI SDK embedding",
  matches: (report) => typeof report["tokens"] === "number",
  read: (reader) => ({ input: reader.count("tokens") }),
};

function readOpenAi(reader: UsageReader, input: string, output: string): UsageCounts {
  const [inputDetails, outputDetails] = [`${input}_details`, `${output}_details`];
  const read = reader.first([inputDetails, "cached_tokens"], ["cache_read_input_tokens"]);
  const write = reader.first([inputDetails, "cache_write_tokens"], ["cache_creation_input_tokens"]);
  const audioIn = reader.count(inputDetails, "audio_tokens");
  const reasoning = reader.count(outputDetails, "reasoning_tokens");
  const audioOut = reader.count(outputDetails, "audio_tokens");
  return {
    ...reader.split(input, "input", { input_audio: audioIn, cache_read: read, cache_write_5m: write }),
    ...reader.split(output, "output", { reasoning, output_audio: audioOut }),
  };
}

/** Gateways add Anthropic's cache fields to it: there they are parts of the total too. */
const OPENAI_CHAT: UsageShape = {
  name: "OpenAI",
  matches: (report) => has(report, "prompt_tokens", "completion_tokens"),
  total: "total_tokens",
  read: (reader) => readOpenAi(reader, "prompt_tokens", "completion_tokens"),
};

const OPENAI_RESPONSES: UsageShape = {
  name: "OpenAI Responses",
  matches: (report) =>
    has(report, "input_tokens", "output_tokens") && has(report, "input_tokens_details", "output_tokens_details"),
  total: "total_tokens",
  read: (reader) => readOpenAi(reader, "input_tokens", "output_tokens"),
};

const ANTHROPIC_MARKS = ["cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation", "server_tool_use"];

const ANTHROPIC: UsageShape = {
  name: "Anthropic",
  matches: (report) => has(report, "input_tokens", "output_tokens") && has(report, ...ANTHROPIC_MARKS),
  total: "total_tokens",
  read: (reader) => {
    const long = reader.count("cache_creation", "ephemeral_1h_input_tokens");
    const short = reader.count("cache_creation", "ephemeral_5m_input_tokens");
    return {
      input: reader.count("input_tokens"),
      cache_read: reader.count("cache_read_input_tokens"),
      ...reader.split("cache_creation_input_tokens", "cache_write_5m", { cache_write_1h: long }, short),
      output: reader.count("output_tokens"),
      web_search: reader.count("server_tool_use", "web_search_requests"),
    };
  },
};

const GEMINI: UsageShape = {
  name: "Gemini",
  matches: (report) => has(report, "promptTokenCount", "candidatesTokenCount"),
  total: "totalTokenCount",
  read: (reader) => {
    const cached = reader.count("cachedContentTokenCount");
    const heard = reader.modality("promptTokensDetails", "AUDIO");
    // The cached part of the audio is in both counts: it is billed as cached.
    const audioIn = heard === undefined ? undefined : Math.max(0, heard - (reader.modality("cacheTokensDetails", "AUDIO") ?? 0));
    const audioOut = reader.modality("candidatesTokensDetails", "AUDIO");
    const prompt = reader.split("promptTokenCount", "input", { input_audio: audioIn, cache_read: cached });
    return {
      ...prompt,
      input: (prompt.input ?? 0) + (reader.count("toolUsePromptTokenCount") ?? 0),
      ...reader.split("candidatesTokenCount", "output", { output_audio: audioOut }),
      reasoning: reader.count("thoughtsTokenCount"),
    };
  },
};

const OPENTELEMETRY: UsageShape = {
  name: "OpenTelemetry",
  matches: (report) => has(report, "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
  read: (reader) => {
    const read = reader.count("gen_ai.usage.cache_read.input_tokens");
    const write = reader.count("gen_ai.usage.cache_creation.input_tokens");
    const reasoning = reader.count("gen_ai.usage.reasoning.output_tokens");
    return {
      ...reader.split("gen_ai.usage.input_tokens", "input", { cache_read: read, cache_write_5m: write }),
      ...reader.split("gen_ai.usage.output_tokens", "output", { reasoning }),
    };
  },
};

/** `input_tokens` and `output_tokens` with no word of a cache: every reading of them agrees. */
const PLAIN: UsageShape = {
  name: "plain",
  matches: (report) => has(report, "input_tokens", "output_tokens"),
  total: "total_tokens",
  read: (reader) => ({ input: reader.count("input_tokens"), output: reader.count("output_tokens") }),
};

const OUR_CLASSES = [...TOKEN_CLASSES, ...COUNTED_UNITS];

const OURS: UsageShape = {
  name: "sessionplane",
  matches: (report) => has(report, ...OUR_CLASSES),
  read: (reader) => Object.fromEntries(OUR_CLASSES.map((name) => [name, reader.count(name)])),
};

const MARKED = [AI_SDK, OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, GEMINI, OPENTELEMETRY];
/** Names too plain to be marks: looked at when nothing else is recognised. */
const UNMARKED = [PLAIN, AI_SDK_EMBEDDING, OURS];

/** Every shape that a report may be meant in. More than one must agree. */
export function shapesOf(report: UsageReport): readonly UsageShape[] {
  const marked = MARKED.filter((shape) => shape.matches(report));
  return marked.length > 0 ? marked : UNMARKED.filter((shape) => shape.matches(report)).slice(0, 1);
}

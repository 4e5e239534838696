/**
 * `builtin/extractive`: a language model of the AI SDK that is a program. It reads the transcript out of the
 * prompt and answers with an extract of it: deterministic, offline, free.
 */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import { parseTranscript } from "@sessionplane/engine/compaction/transcript";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import { extract } from "./extract.ts";

/** For a caller who names no size. */
const DEFAULT_TARGET_TOKENS = 1_000;

/** What is aimed at, or else what the caller allows. */
function targetOf({ providerOptions, maxOutputTokens }: LanguageModelV4CallOptions): number {
  const target = providerOptions?.["builtin"]?.["targetTokens"];
  return typeof target === "number" ? target : (maxOutputTokens ?? DEFAULT_TARGET_TOKENS);
}

function promptText({ prompt }: LanguageModelV4CallOptions): string {
  const texts = prompt.flatMap((message) => {
    if (typeof message.content === "string") return [];
    return message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  });
  return texts.join("\n");
}

async function generate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
  const prompt = promptText(options);
  const text = extract(parseTranscript(prompt), targetOf(options));
  const input = estimateText(prompt);
  const output = estimateText(text);
  return {
    content: [{ type: "text", text }],
    finishReason: { unified: "stop", raw: "stop" },
    usage: {
      inputTokens: { total: input, noCache: input, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: output, text: output, reasoning: undefined },
    },
    warnings: [],
  };
}

export const extractiveModel: LanguageModelV4 = {
  specificationVersion: "v4",
  provider: "builtin",
  modelId: "extractive",
  supportedUrls: {},
  doGenerate: generate,
  async doStream(options) {
    const { content, finishReason, usage, warnings } = await generate(options);
    const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue({ type: "stream-start", warnings });
        controller.enqueue({ type: "text-start", id: "0" });
        controller.enqueue({ type: "text-delta", id: "0", delta: text });
        controller.enqueue({ type: "text-end", id: "0" });
        controller.enqueue({ type: "finish", finishReason, usage });
        controller.close();
      },
    });
    return { stream };
  },
};

/**
 * `builtin/extractive`: a language model of the AI SDK that is a program. It reads the transcript out of the
 * prompt and answers with an extract of it: deterministic, offline, free.
 */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import { parseTranscript } from "@sessionplane/engine/compaction/transcript";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import { extract } from "./extract.ts";

const DEFAULT_TARGET_TOKENS = 1_000;

function promptText({ prompt }: LanguageModelV4CallOptions): string {
  const texts = prompt.flatMap((message) => {
    if (typeof message.content === "string") return [];
    return message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  });
  return texts.join("\n");
}

async function generate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
  const prompt = promptText(options);
  const text = extract(parseTranscript(prompt), options.maxOutputTokens ?? DEFAULT_TARGET_TOKENS);
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

/** One call of a model, and what became of it. With `models.ts` the only place that knows the AI SDK. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { APICallError, generateText } from "ai";
import { INSTRUCTIONS } from "@sessionplane/engine/compaction/prompt";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import { type Result, err, ok } from "@sessionplane/shared/result";

export type ModelCall = {
  readonly prompt: string;
  /** Aimed at. The model that is a program takes it as an option: it does not read what we ask. */
  readonly targetTokens: number;
  /** The provider stops here. */
  readonly maxOutputTokens: number;
  readonly timeoutMs: number;
};

/** As the AI SDK reported it, and as we count it ourselves for a server that reports nothing or nonsense. */
export type ModelUsage = {
  readonly reported: Record<string, unknown>;
  readonly estimated: { readonly input: number; readonly output: number };
};

export type ModelAnswer = { readonly text: string; readonly finishReason: string; readonly usage: ModelUsage };

/** What happened, not what to do about it: `settle.ts` decides. */
export type ModelFailure =
  | { readonly kind: "status"; readonly status: number }
  | { readonly kind: "unreachable" }
  | { readonly kind: "timeout" }
  | { readonly kind: "unreadable"; readonly error: string };

const FIRST_ERROR_STATUS = 400;

/** Never the provider's own words: they may quote the prompt or the key. */
function failureOf(error: unknown): ModelFailure {
  const name = error instanceof Error ? error.name : "unknown";
  if (name === "TimeoutError" || name === "AbortError") return { kind: "timeout" };
  if (!APICallError.isInstance(error)) return { kind: "unreadable", error: name };
  if (error.statusCode === undefined) return { kind: "unreachable" };
  return error.statusCode < FIRST_ERROR_STATUS
    ? { kind: "unreadable", error: name }
    : { kind: "status", status: error.statusCode };
}

/** Plain data without undefined: it goes over RPC and into the ledger as it came. */
const plain = (value: object): Record<string, unknown> => JSON.parse(JSON.stringify(value));

export async function callModel(model: LanguageModelV4, call: ModelCall): Promise<Result<ModelAnswer, ModelFailure>> {
  try {
    const { text, finishReason, usage } = await generateText({
      model,
      instructions: INSTRUCTIONS,
      prompt: call.prompt,
      maxOutputTokens: call.maxOutputTokens,
      providerOptions: { builtin: { targetTokens: call.targetTokens } },
      // The queue retries, with a delay that does not hold a lease.
      maxRetries: 0,
      abortSignal: AbortSignal.timeout(call.timeoutMs),
    });
    const estimated = { input: estimateText(INSTRUCTIONS) + estimateText(call.prompt), output: estimateText(text) };
    return ok({ text, finishReason, usage: { reported: plain(usage), estimated } });
  } catch (error) {
    return err(failureOf(error));
  }
}

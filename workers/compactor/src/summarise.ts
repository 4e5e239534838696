/** One call of a model, and what its failure means. With `models.ts` the only place that knows the AI SDK. */
import { APICallError, generateText } from "ai";
import { INSTRUCTIONS } from "@sessionplane/engine/compaction/prompt";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { NamedModel } from "./models.ts";

/** Far below the job's lease. */
const CALL_TIMEOUT_MS = 90_000;

export type ModelAnswer = { readonly text: string; readonly finishReason: string; readonly usage: Record<string, unknown> };

/** transient: the same call may succeed later. */
export type ModelFailure = { readonly kind: "transient" | "permanent"; readonly code: string; readonly detail: string };

const TRANSIENT_STATUS = new Set([408, 409, 425, 429]);

/** Never the provider's own words: they may quote the prompt or the key. */
function failureOf(error: unknown): ModelFailure {
  if (APICallError.isInstance(error)) {
    const status = error.statusCode;
    const transient = status === undefined || status >= 500 || TRANSIENT_STATUS.has(status);
    return {
      kind: transient ? "transient" : "permanent",
      code: status === undefined ? "model_unreachable" : `model_status_${status}`,
      detail: status === undefined ? "the model's server could not be reached" : `the model's server answered ${status}`,
    };
  }
  const name = error instanceof Error ? error.name : "unknown";
  if (name === "TimeoutError" || name === "AbortError") {
    return {
      kind: "transient",
      code: "model_timeout",
      detail: `the model did not answer within ${CALL_TIMEOUT_MS / 1000} seconds`,
    };
  }
  return { kind: "transient", code: "model_error", detail: `the model's answer could not be read (${name})` };
}

export async function callModel(
  { model }: NamedModel,
  prompt: string,
  maxOutputTokens: number,
): Promise<Result<ModelAnswer, ModelFailure>> {
  try {
    const { text, finishReason, usage } = await generateText({
      model,
      instructions: INSTRUCTIONS,
      prompt,
      maxOutputTokens,
      // The queue retries, with a delay that does not hold a lease.
      maxRetries: 0,
      abortSignal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    });
    // Plain data without undefined: it goes over RPC and into the ledger as it came.
    return ok({ text, finishReason, usage: JSON.parse(JSON.stringify(usage)) as Record<string, unknown> });
  } catch (error) {
    return err(failureOf(error));
  }
}

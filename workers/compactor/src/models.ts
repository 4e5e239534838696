/** Models by `provider/model`. What is not configured here is unknown, and says so. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { createWorkersAI } from "workers-ai-provider";
import type { CompactorEnv } from "./env.ts";
import { extractiveModel } from "./extractive/extractive-model.ts";

export const DEFAULT_MODEL = "builtin/extractive";

export type NamedModel = { readonly provider: string; readonly name: string; readonly model: LanguageModelV4 };

type Factory = (env: CompactorEnv, name: string) => LanguageModelV4 | null;

const PROVIDERS: Readonly<Record<string, Factory>> = {
  builtin: (_env, name) => (name === extractiveModel.modelId ? extractiveModel : null),
  "openai-compatible": (env, name) => {
    const { OPENAI_COMPATIBLE_BASE_URL: baseURL, OPENAI_COMPATIBLE_API_KEY: apiKey } = env;
    if (baseURL === "") return null;
    return createOpenAICompatible({ name: "openai-compatible", baseURL, ...(apiKey === undefined ? {} : { apiKey }) }).chatModel(
      name,
    );
  },
  // A local plane has no AI binding: it would need an account.
  "workers-ai": (env, name) => (env.AI === undefined ? null : createWorkersAI({ binding: env.AI })(name)),
};

/** The model, or null when its provider is not configured or does not have it. */
export function findModel(env: CompactorEnv, id: string): NamedModel | null {
  const slash = id.indexOf("/");
  const provider = id.slice(0, slash);
  const name = id.slice(slash + 1);
  const model = PROVIDERS[provider]?.(env, name) ?? null;
  return model === null ? null : { provider, name, model };
}

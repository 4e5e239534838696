/** Models by `provider/model`, in the AI SDK's registry. What is not configured here is unknown, and says so. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4, ProviderV4 } from "@ai-sdk/provider";
import { NoSuchModelError, NoSuchProviderError, createProviderRegistry, customProvider } from "ai";
import { createWorkersAI } from "workers-ai-provider";
import type { CompactorEnv } from "./env.ts";
import { extractiveModel } from "./extractive/extractive-model.ts";

export const DEFAULT_MODEL = "builtin/extractive";

const builtin: ProviderV4 = customProvider({ languageModels: { [extractiveModel.modelId]: extractiveModel } });

function openAiCompatible({ OPENAI_COMPATIBLE_BASE_URL: baseURL, OPENAI_COMPATIBLE_API_KEY: apiKey }: CompactorEnv) {
  return createOpenAICompatible({ name: "openai-compatible", baseURL, ...(apiKey === undefined ? {} : { apiKey }) });
}

const hasNo = (modelType: "embeddingModel" | "imageModel") => (modelId: string) => {
  throw new NoSuchModelError({ modelId, modelType });
};

/** Its provider is of an older make than the registry takes; its models are not. */
const workersAi = (binding: Ai): ProviderV4 => ({
  specificationVersion: "v4",
  languageModel: (name) => createWorkersAI({ binding })(name),
  embeddingModel: hasNo("embeddingModel"),
  imageModel: hasNo("imageModel"),
});

/** A local plane has no AI binding (it would need an account), and no server of models until one is named. */
function registryOf(env: CompactorEnv) {
  const providers: Record<string, ProviderV4> = {
    builtin,
    ...(env.OPENAI_COMPATIBLE_BASE_URL === "" ? {} : { "openai-compatible": openAiCompatible(env) }),
    ...(env.AI === undefined ? {} : { "workers-ai": workersAi(env.AI) }),
  };
  return createProviderRegistry(providers, { separator: "/" });
}

/** The model, or null when its provider is not configured or does not have it. */
export function findModel(env: CompactorEnv, id: string): LanguageModelV4 | null {
  const [provider, name] = [id.slice(0, id.indexOf("/")), id.slice(id.indexOf("/") + 1)];
  if (provider === "" || name === "") return null;
  try {
    return registryOf(env).languageModel(`${provider}/${name}`);
  } catch (error) {
    if (NoSuchModelError.isInstance(error) || NoSuchProviderError.isInstance(error)) return null;
    throw error;
  }
}

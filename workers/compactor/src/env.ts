/** The worker's bindings, typed. */
import type { CatalogRpc } from "@sessionplane/shared/rpc/catalog-rpc";
import type { SessionNamespace } from "@sessionplane/shared/rpc/session-rpc";

export interface CompactorEnv extends Omit<Env, "SESSION" | "CATALOG"> {
  SESSION: SessionNamespace;
  CATALOG: CatalogRpc;
  /** A secret: the key of the OpenAI-compatible server. */
  OPENAI_COMPATIBLE_API_KEY?: string;
}

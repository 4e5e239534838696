/**
 * The worker's bindings, typed. Those that wrangler can't type are written out; the others are named again,
 * so that this file says what there is, and must agree with what wrangler generates.
 */
import type { CatalogRpc } from "@sessionplane/shared/rpc/catalog-rpc";
import type { SessionNamespace } from "@sessionplane/shared/rpc/session-rpc";

export interface CompactorEnv extends Omit<Cloudflare.Env, "SESSION" | "CATALOG"> {
  SESSION: SessionNamespace;
  CATALOG: CatalogRpc;
  /** provider/model for tenants that name none. */
  COMPACTION_MODEL: string;
  /** Empty: there is no such server. */
  OPENAI_COMPATIBLE_BASE_URL: string;
  /** A secret: the key of the OpenAI-compatible server. */
  OPENAI_COMPATIBLE_API_KEY?: string;
  /** Only where there is a Cloudflare account. */
  AI?: Ai;
}

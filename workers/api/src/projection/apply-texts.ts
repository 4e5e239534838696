/** Texts from the sessions' logs to their tenants' search objects. A tenant's object fails alone. */
import type { TenantId } from "@sessionplane/shared/ids";
import type { FactBatch } from "@sessionplane/shared/queue/fact";
import type { TextStretch } from "@sessionplane/shared/rpc/tenant-search-rpc";
import type { ApiEnv } from "../env.ts";
import { logError } from "../log.ts";

/** Every stretch is told, also one without texts: the index says how far it is complete. */
const stretchOf = ({ session_id, after_seq, to_seq, facts }: FactBatch): TextStretch => ({
  ...{ session_id, after_seq, to_seq },
  facts: facts.filter((fact) => fact.kind === "text" || fact.kind === "removal" || fact.kind === "clear"),
});

async function apply(env: ApiEnv, tenant: TenantId, batches: readonly FactBatch[]): Promise<boolean> {
  try {
    await env.TENANT_SEARCH.getByName(tenant).apply(batches.map(stretchOf));
    return true;
  } catch (error) {
    logError("search_not_fed", error, { tenant_id: tenant });
    return false;
  }
}

/** The tenants whose index has all of it. */
export async function applyTexts(env: ApiEnv, batches: readonly FactBatch[]): Promise<ReadonlySet<TenantId>> {
  const byTenant = Map.groupBy(batches, (batch) => batch.tenant_id);
  const fed = await Promise.all([...byTenant].map(async ([tenant, own]) => ((await apply(env, tenant, own)) ? [tenant] : [])));
  return new Set(fed.flat());
}

/** The way to a tenant's search object: the only place that reads one. A read may be repeated. */
import type { TenantId } from "@sessionplane/shared/ids";
import type { IndexPage, IndexQuery } from "@sessionplane/shared/rpc/tenant-search-rpc";
import type { ApiEnv } from "./env.ts";
import { Unavailable } from "./http/problems.ts";

const MAX_ATTEMPTS = 2;

export async function searchIndex(env: ApiEnv, tenantId: TenantId, query: IndexQuery): Promise<IndexPage> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await env.TENANT_SEARCH.getByName(tenantId).search(query);
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS) throw new Unavailable("the tenant's search did not answer", { cause: error });
    }
  }
}

/** What a tenant's index found, as the sessions themselves show it now. */
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { IndexHit } from "@sessionplane/shared/rpc/tenant-search-rpc";
import type { SearchHit } from "@sessionplane/shared/search";
import type { ApiEnv } from "../../env.ts";
import type { TenantPrincipal } from "../../http/principal.ts";
import { callSession } from "../../session-client.ts";

const GONE: readonly string[] = ["not_found", "erased"];

/** In the order of the hits, without those whose message is gone by now. */
export async function showHits(
  env: ApiEnv,
  tenant: TenantPrincipal,
  q: string,
  hits: readonly IndexHit[],
): Promise<Result<SearchHit[], Problem>> {
  const bySession = Map.groupBy(hits, (hit) => hit.session_id);
  const shown = await Promise.all(
    [...bySession].map(async ([id, found]) => {
      const places = found.map(({ seq, score }) => ({ seq, score }));
      return callSession(env, tenant, id, (session) => session.showHits({ q, places }));
    }),
  );
  const all: SearchHit[] = [];
  for (const one of shown) {
    if (one.ok) all.push(...one.value);
    else if (!GONE.includes(one.error.code)) return err(one.error);
  }
  return ok(all.toSorted((a, b) => b.score - a.score));
}

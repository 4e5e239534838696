/**
 * `session_search` over the sessions of one user: what another user of the tenant said must not come into this
 * one's prompt. A session without a user searches itself, in its own object.
 */
import type { ToolReply } from "@sessionplane/shared/block";
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, ok } from "@sessionplane/shared/result";
import type { Written } from "@sessionplane/shared/rpc/session-rpc";
import { MAX_QUERY_LENGTH } from "@sessionplane/shared/search";
import { resultsText } from "@sessionplane/engine/context/results-text";
import { searchSessions } from "@sessionplane/engine/context/run-tool";
import { ANY_TIME } from "@sessionplane/engine/storage/sqlite/search-index";
import { connect } from "../../catalog/db.ts";
import { sessionIdsOfUser } from "../../catalog/sessions.ts";
import type { ApiEnv } from "../../env.ts";
import { type TenantPrincipal, rulesOf } from "../../http/principal.ts";
import { searchIndex } from "../../search-client.ts";
import { callSession } from "../../session-client.ts";
import { showHits } from "../search/show-hits.ts";

const MAX_RESULTS = 10;

type Answer = Result<Written<ToolReply>, Problem>;

/** `itself`: the same tool in the session's object. */
export async function searchUsersSessions(
  env: ApiEnv,
  tenant: TenantPrincipal,
  id: string,
  sent: unknown,
  itself: () => Promise<Answer>,
): Promise<Answer> {
  const session = await callSession(env, tenant, id, (one) => one.describe(rulesOf(tenant)));
  if (!session.ok) return session;
  const { user_id: userId } = session.value;
  if (userId === null) return itself();
  const ids = await sessionIdsOfUser(connect(env.CATALOG), tenant.tenantId, userId);
  let refused: Problem | null = null;
  const { output, isError } = await searchSessions(sent, async (query) => {
    const q = query.slice(0, MAX_QUERY_LENGTH);
    const found = await searchIndex(env, tenant.tenantId, { q, limit: MAX_RESULTS, created: ANY_TIME, session_ids: ids });
    const hits = await showHits(env, tenant, q, found.hits);
    if (!hits.ok) {
      refused = hits.error;
      return null;
    }
    return resultsText(hits.value.map(({ role, content }) => ({ heading: role, content })));
  });
  if (refused !== null) return { ok: false, error: refused };
  return ok({ value: { output, is_error: isError }, replayed: false });
}

/** The sessions that came of one: forks and splits, and those of these, at any depth. By what the catalog knows of their totals. */
import { sql } from "drizzle-orm";
import { formatMoney } from "@sessionplane/shared/money";
import type { SessionId, TenantId } from "@sessionplane/shared/ids";
import type { SessionUsage } from "@sessionplane/shared/session";
import type { CatalogDb } from "./db.ts";

type Row = {
  sessions: number;
  events: number;
  input_tokens: number;
  output_tokens: number;
  list: string;
  billed: string;
  unpriced_events: number;
};

/** UNION keeps each once: a chain that led back to itself would end. Erased sessions keep their place and what they cost. */
export async function descendantsUsage(
  db: CatalogDb,
  tenantId: TenantId,
  id: SessionId,
): Promise<SessionUsage & { readonly sessions: number }> {
  const row = await db.get<Row>(sql`
WITH RECURSIVE descendant (id) AS (
  SELECT s.id FROM sessions AS s WHERE s.tenant_id = ${tenantId} AND s.parent_session_id = ${id}
  UNION
  SELECT s.id FROM descendant CROSS JOIN sessions AS s ON s.tenant_id = ${tenantId} AND s.parent_session_id = descendant.id)
SELECT count(*) AS sessions, coalesce(sum(s.usage_events), 0) AS events, coalesce(sum(s.input_tokens), 0) AS input_tokens,
  coalesce(sum(s.output_tokens), 0) AS output_tokens, CAST(coalesce(sum(s.list_nano), 0) AS TEXT) AS list,
  CAST(coalesce(sum(s.billed_nano), 0) AS TEXT) AS billed, coalesce(sum(s.unpriced_events), 0) AS unpriced_events
FROM descendant CROSS JOIN sessions AS s ON s.tenant_id = ${tenantId} AND s.id = descendant.id
WHERE s.id <> ${id}`);
  const { list, billed, ...counts } = row;
  return { ...counts, cost: formatMoney(billed), list_cost: formatMoney(list) };
}

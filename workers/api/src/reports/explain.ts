/** The SQL that explains a report's cell: its calls' lines by model, class and price. */
import { type LineSum, lineSumSchema, lineSums } from "@sessionplane/shared/explained-cost";
import type { TenantScope } from "../catalog/scope.ts";
import type { Interval } from "@sessionplane/shared/report";
import { EVENTS_OF, type ReportFilter, type ReportSql } from "./query.ts";

/** `value` null: calls without such a tag. */
export type TagFilter = { readonly key: string; readonly value: string | null };
export type ExplainFilter = ReportFilter & { readonly class?: string | undefined; readonly tags: readonly TagFilter[] };

/** ?2: JSON, the tags that a call must have. */
const HAS_TAGS = `NOT EXISTS (SELECT 1 FROM json_each(?2) AS f LEFT JOIN json_each(e.event, '$.tags') AS t ON t.key = f.value->>'$.key'
    WHERE t.value IS NOT f.value->>'$.value')`;

/** ?1 the range, ?2 tags, ?3 tenant or null, ?4 … ?9 filters or null, ?10 the most rows. */
const sqlFor = (scope: keyof typeof EVENTS_OF): string => `
WITH told AS (
  SELECT e.event, e.adjusts IS NULL AS calls, e.unpriced, e.session_id || ' ' || e.event_id AS place
  FROM json_each(?1) AS b CROSS JOIN ${EVENTS_OF[scope]}
    AND e.occurred_at >= (b.value->>'$.start') AND e.occurred_at < (b.value->>'$.end')
  WHERE (?4 IS NULL OR e.session_id = ?4) AND (?5 IS NULL OR coalesce(e.user_id, '') = ?5) AND (?6 IS NULL OR e.model = ?6)
    AND (?7 IS NULL OR e.provider = ?7) AND (?8 IS NULL OR e.purpose = ?8) AND ${HAS_TAGS})
${lineSums("told", "(?9 IS NULL OR l.value->>'$.class' = ?9)")}
LIMIT ?10`;

/** The statement and its parameters. Pure: tests run it on a plain SQLite. */
export function explainSql(scope: TenantScope, range: Interval, filter: ExplainFilter, maxRows: number): ReportSql {
  const { sessionId = null, userId = null, model = null, provider = null, purpose = null, class: name = null, tags } = filter;
  const tenant = scope === "all_tenants" ? null : scope;
  return {
    text: sqlFor(tenant === null ? "all" : "one"),
    parameters: [
      ...[JSON.stringify([range]), JSON.stringify(tags), tenant],
      ...[sessionId, userId, model, provider, purpose, name, maxRows + 1],
    ],
  };
}

/** `maxRows` + 1 rows mean that there are more. */
export async function queryExplanation(
  catalog: D1Database,
  scope: TenantScope,
  range: Interval,
  filter: ExplainFilter,
  maxRows: number,
): Promise<LineSum[]> {
  const { text, parameters } = explainSql(scope, range, filter, maxRows);
  const result = await catalog
    .prepare(text)
    .bind(...parameters)
    .all();
  return result.results.map((row) => lineSumSchema.parse(row));
}

/**
 * The SQL of a report. Rollups hold whole quarters of an hour; what a bucket cuts off one is taken from the
 * events, so that any instant may bound a report and its parts add up to the whole. What is old is kept by day:
 * `whole-days.ts` refuses a bucket that would cut one. Tags are on events alone: a report by tag takes everything
 * from them, and reaches no further back than they are kept.
 */
import { QUARTER_MS, type Grouping, REPORT_GROUPS, type ReportGroup } from "@sessionplane/shared/report";
import type { TenantScope } from "../catalog/scope.ts";
import type { Interval } from "@sessionplane/shared/report";

export type ReportFilter = {
  readonly sessionId?: string | undefined;
  readonly userId?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  readonly purpose?: string | undefined;
};

export type ReportRow = {
  readonly bucket: number;
  readonly tenant: string;
  readonly user: string;
  readonly session: string;
  readonly model: string;
  readonly provider: string;
  readonly purpose: string;
  readonly class: string;
  /** JSON: the values of the tags asked for, in their order; empty when none is. */
  readonly tags: string;
  readonly events: number;
  readonly quantity: number;
  readonly list: string;
  readonly billed: string;
  readonly unpriced: number;
};

const GROUP_COLUMNS: Record<ReportGroup, string> = {
  tenant: "tenant_id",
  user: "user_id",
  session: "session_id",
  model: "model",
  provider: "provider",
  purpose: "purpose",
  token_class: "class",
};

/** The whole quarters inside a bucket, and the pieces at its ends that are less than one. */
export function splitAtQuarters({ start, end }: Interval): {
  readonly whole: Interval | null;
  readonly edges: readonly Interval[];
} {
  const first = Math.ceil(start / QUARTER_MS) * QUARTER_MS;
  const last = Math.floor(end / QUARTER_MS) * QUARTER_MS;
  if (first >= last) return { whole: null, edges: [{ start, end }] };
  const edges = [
    { start, end: first },
    { start: last, end },
  ].filter((edge) => edge.start < edge.end);
  return { whole: { start: first, end: last }, edges };
}

type Piece = Interval & { readonly bucket: number };
type Pieces = { readonly whole: readonly Piece[]; readonly edges: readonly Piece[]; readonly days: readonly Interval[] };

function pieces(buckets: readonly Interval[], byTag: boolean): Pieces {
  if (byTag) return { whole: [], edges: buckets.map((interval, bucket) => ({ ...interval, bucket })), days: [] };
  const whole: Piece[] = [];
  const edges: Piece[] = [];
  buckets.forEach((interval, bucket) => {
    const split = splitAtQuarters(interval);
    if (split.whole !== null) whole.push({ ...split.whole, bucket });
    edges.push(...split.edges.map((edge) => ({ ...edge, bucket })));
  });
  return { whole, edges, days: buckets };
}

/**
 * Where the rows come from. A tenant's report seeks in its own rows alone; an operator's seeks by time in the
 * rollups and, since events are indexed within their tenant, tenant by tenant in the events. CROSS JOIN keeps
 * the pieces outside, whatever the planner thinks of their number.
 */
const ROLLUPS_OF = {
  one: "usage_rollups AS r ON r.tenant_id = ?3",
  all: "usage_rollups AS r ON ?3 IS NULL",
} as const;
const DAYS_OF = {
  one: "usage_days AS d ON d.tenant_id = ?3",
  all: "usage_days AS d ON ?3 IS NULL",
} as const;
export const EVENTS_OF = {
  one: "usage_events AS e ON e.tenant_id = ?3",
  all: "tenants AS t CROSS JOIN usage_events AS e ON ?3 IS NULL AND e.tenant_id = t.id",
} as const;

/** The values of the tags ?12, as JSON in their order. */
const TAGS = `(SELECT json_group_array(t.value) FROM json_each(?12) AS k
    LEFT JOIN json_each(e.event, '$.tags') AS t ON t.key = k.value)`;

/** The columns that tell the groups of a bucket apart. */
const groupColumns = ({ groups, tags }: Grouping): string[] => [
  ...groups.map((group) => GROUP_COLUMNS[group]),
  ...(tags.length === 0 ? [] : ["tags"]),
];

/** Groups past the one that ?11 holds the columns of, in the first bucket. */
const pastGroup = (columns: readonly string[]): string => {
  const further = `(${columns.join(", ")}) > (${columns.map((_, index) => `?11->>${index}`).join(", ")})`;
  return `(?11 IS NULL OR bucket > 0${columns.length === 0 ? "" : ` OR ${further}`})`;
};

/** ?1 whole quarters, ?2 edges, ?3 tenant or null, ?4 … ?8 filters or null, ?9 the most rows, ?10 buckets, ?11 a group or null, ?12 tags. */
function sqlFor(scope: "one" | "all", grouping: Grouping): string {
  const columns = REPORT_GROUPS.map((group) => {
    // Quantities are told by class, so the class is always a column of the rows.
    const shown = grouping.groups.includes(group) || group === "token_class";
    const name = group === "token_class" ? "class" : group;
    return `${shown ? GROUP_COLUMNS[group] : "''"} AS "${name}"`;
  });
  const groups = groupColumns(grouping);
  const keys = [...new Set(["bucket", ...groups, "class"])].join(", ");
  return `
WITH used AS (
  SELECT b.value->>'$.bucket' AS bucket, r.tenant_id, r.user_id, r.session_id, r.model, r.provider, r.purpose, r.class, '' AS tags,
    r.events, r.quantity, r.list_nano, r.billed_nano, r.unpriced_events
  FROM json_each(?1) AS b CROSS JOIN ${ROLLUPS_OF[scope]}
    AND r.bucket >= (b.value->>'$.start') AND r.bucket < (b.value->>'$.end')
  UNION ALL
  SELECT b.value->>'$.bucket', e.tenant_id, coalesce(e.user_id, ''), e.session_id, e.model, e.provider, e.purpose, l.value->>'$.class',
    ${grouping.tags.length === 0 ? "''" : TAGS},
    (l.key = 0) * (e.adjusts IS NULL), l.value->>'$.quantity', coalesce(l.value->>'$.list_nano', 0), coalesce(l.value->>'$.billed_nano', 0), (l.key = 0) * e.unpriced
  FROM json_each(?2) AS b CROSS JOIN ${EVENTS_OF[scope]}
    AND e.occurred_at >= (b.value->>'$.start') AND e.occurred_at < (b.value->>'$.end')
    CROSS JOIN json_each(e.event, '$.lines') AS l
  UNION ALL
  SELECT b.key, d.tenant_id, d.user_id, d.session_id, d.model, d.provider, d.purpose, d.class, '',
    d.events, d.quantity, d.list_nano, d.billed_nano, d.unpriced_events
  FROM json_each(?10) AS b CROSS JOIN ${DAYS_OF[scope]}
    AND d.start >= (b.value->>'$.start') AND d.start < (b.value->>'$.end'))
SELECT bucket, ${columns.join(", ")}, tags, sum(events) AS events, sum(quantity) AS quantity,
  CAST(sum(list_nano) AS TEXT) AS list, CAST(sum(billed_nano) AS TEXT) AS billed, sum(unpriced_events) AS unpriced
FROM used
WHERE (?4 IS NULL OR session_id = ?4) AND (?5 IS NULL OR user_id = ?5) AND (?6 IS NULL OR model = ?6)
  AND (?7 IS NULL OR provider = ?7) AND (?8 IS NULL OR purpose = ?8) AND ${pastGroup(groups)}
GROUP BY ${keys}
ORDER BY ${keys}
LIMIT ?9`;
}

/** A group of a bucket, by the columns that tell it apart. */
export type GroupPlace = readonly string[];

const field = (row: ReportRow, group: ReportGroup): string => row[group === "token_class" ? "class" : group];
export const placeOf = (row: ReportRow, { groups, tags }: Grouping): GroupPlace => [
  ...groups.map((group) => field(row, group)),
  ...(tags.length === 0 ? [] : [row.tags]),
];

/** `maxRows` + 1 rows mean that there are more. `after`: of the first bucket, only the groups past this one. */
export type RowLimits = { readonly maxRows: number; readonly after: GroupPlace | null };

export type ReportSql = { readonly text: string; readonly parameters: readonly (string | number | null)[] };

/** The statement and its parameters. Pure: tests run it on a plain SQLite. */
export function reportSql(
  scope: TenantScope,
  buckets: readonly Interval[],
  grouping: Grouping,
  filter: ReportFilter,
  { maxRows, after }: RowLimits,
): ReportSql {
  const { whole, edges, days } = pieces(buckets, grouping.tags.length > 0);
  const { sessionId = null, userId = null, model = null, provider = null, purpose = null } = filter;
  const tenant = scope === "all_tenants" ? null : scope;
  return {
    text: sqlFor(tenant === null ? "all" : "one", grouping),
    parameters: [
      ...[JSON.stringify(whole), JSON.stringify(edges), tenant, sessionId, userId, model, provider, purpose],
      ...[maxRows + 1, JSON.stringify(days), after === null ? null : JSON.stringify(after)],
      ...(grouping.tags.length === 0 ? [] : [JSON.stringify(grouping.tags)]),
    ],
  };
}

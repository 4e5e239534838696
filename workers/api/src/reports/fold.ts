/** Rows by class folded into a report's rows. Pure. Money is added as integers. */
import { formatInstant } from "@sessionplane/shared/fields";
import { formatMoney } from "@sessionplane/shared/money";
import type { CostRow, ReportGroup, UsageRow } from "@sessionplane/shared/report";
import type { Interval } from "./buckets.ts";
import type { ReportRow } from "./query.ts";

const keysOf = (row: ReportRow, groupBy: readonly ReportGroup[]) => ({
  ...(groupBy.includes("tenant") ? { tenant_id: row.tenant } : {}),
  ...(groupBy.includes("user") ? { user_id: row.user === "" ? null : row.user } : {}),
  ...(groupBy.includes("session") ? { session_id: row.session } : {}),
  ...(groupBy.includes("model") ? { model: row.model } : {}),
  ...(groupBy.includes("provider") ? { provider: row.provider } : {}),
  ...(groupBy.includes("purpose") ? { purpose: row.purpose } : {}),
  ...(groupBy.includes("token_class") ? { token_class: row.class } : {}),
});

type Group = {
  readonly interval: Interval;
  readonly keys: ReturnType<typeof keysOf>;
  events: number;
  unpriced: number;
  list: bigint;
  billed: bigint;
  readonly quantities: Record<string, number>;
};

/** The rows of one bucket and group together, in the order of the query. */
function groupsOf(rows: readonly ReportRow[], buckets: readonly Interval[], groupBy: readonly ReportGroup[]): Group[] {
  const groups = new Map<string, Group>();
  for (const row of rows) {
    const interval = buckets[row.bucket];
    if (interval === undefined) continue;
    const keys = keysOf(row, groupBy);
    const id = JSON.stringify([row.bucket, keys]);
    const group = groups.get(id) ?? { interval, keys, events: 0, unpriced: 0, list: 0n, billed: 0n, quantities: {} };
    group.events += row.events;
    group.unpriced += row.unpriced;
    group.list += BigInt(row.list);
    group.billed += BigInt(row.billed);
    group.quantities[row.class] = (group.quantities[row.class] ?? 0) + row.quantity;
    groups.set(id, group);
  }
  return [...groups.values()];
}

const frame = ({ interval, keys }: Group) => ({
  start: formatInstant(interval.start),
  end: formatInstant(interval.end),
  ...keys,
});

/** One call has several classes: split by class, calls can't be counted. */
const countable = (groupBy: readonly ReportGroup[], count: number): number | null =>
  groupBy.includes("token_class") ? null : count;

export const usageRows = (
  rows: readonly ReportRow[],
  buckets: readonly Interval[],
  groupBy: readonly ReportGroup[],
): UsageRow[] =>
  groupsOf(rows, buckets, groupBy).map((group) => ({
    ...frame(group),
    events: countable(groupBy, group.events),
    quantities: group.quantities,
  }));

export const costRows = (rows: readonly ReportRow[], buckets: readonly Interval[], groupBy: readonly ReportGroup[]): CostRow[] =>
  groupsOf(rows, buckets, groupBy).map((group) => ({
    ...frame(group),
    events: countable(groupBy, group.events),
    list_cost: formatMoney(group.list),
    cost: formatMoney(group.billed),
    unpriced_events: countable(groupBy, group.unpriced),
  }));

export function totalsOf(rows: readonly ReportRow[]) {
  const [all] = groupsOf(
    rows.map((row) => ({ ...row, bucket: 0 })),
    [{ start: 0, end: 0 }],
    [],
  );
  return {
    events: all?.events ?? 0,
    quantities: all?.quantities ?? {},
    list_cost: formatMoney(all?.list ?? 0n),
    cost: formatMoney(all?.billed ?? 0n),
    unpriced_events: all?.unpriced ?? 0,
  };
}

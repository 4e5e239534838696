/** Rows by class folded into a report's rows. Pure. Money is added as integers. */
import { formatInstant } from "@sessionplane/shared/fields";
import { formatMoney } from "@sessionplane/shared/money";
import type { CostRow, Grouping, ReportTotals, UsageRow } from "@sessionplane/shared/report";
import type { Interval } from "@sessionplane/shared/report";
import type { ReportRow } from "./query.ts";

/** As the query gives them: in the order of the keys asked for. */
function tagsOf(row: ReportRow, keys: readonly string[]): Record<string, string | null> {
  const values: unknown = JSON.parse(row.tags);
  const valueAt = (index: number): unknown => (Array.isArray(values) ? values[index] : null);
  return Object.fromEntries(
    keys.map((key, index) => {
      const value = valueAt(index);
      return [key, typeof value === "string" ? value : null];
    }),
  );
}

const keysOf = (row: ReportRow, { groups, tags }: Grouping) => ({
  ...(groups.includes("tenant") ? { tenant_id: row.tenant } : {}),
  ...(groups.includes("user") ? { user_id: row.user === "" ? null : row.user } : {}),
  ...(groups.includes("session") ? { session_id: row.session } : {}),
  ...(groups.includes("model") ? { model: row.model } : {}),
  ...(groups.includes("provider") ? { provider: row.provider } : {}),
  ...(groups.includes("purpose") ? { purpose: row.purpose } : {}),
  ...(groups.includes("token_class") ? { token_class: row.class } : {}),
  ...(tags.length > 0 ? { tags: tagsOf(row, tags) } : {}),
});

type Sum = { events: number; unpriced: number; list: bigint; billed: bigint; readonly quantities: Record<string, number> };
const nothing = (): Sum => ({ events: 0, unpriced: 0, list: 0n, billed: 0n, quantities: {} });

function add(sum: Sum, row: ReportRow): void {
  sum.events += row.events;
  sum.unpriced += row.unpriced;
  sum.list += BigInt(row.list);
  sum.billed += BigInt(row.billed);
  sum.quantities[row.class] = (sum.quantities[row.class] ?? 0) + row.quantity;
}

type Group = Sum & { readonly interval: Interval; readonly keys: ReturnType<typeof keysOf> };

/** The rows of one bucket and group together, in the order of the query. */
function groupsOf(rows: readonly ReportRow[], buckets: readonly Interval[], grouping: Grouping): Group[] {
  const found = new Map<string, Group>();
  for (const row of rows) {
    const interval = buckets[row.bucket];
    if (interval === undefined) continue;
    const keys = keysOf(row, grouping);
    const id = JSON.stringify([row.bucket, keys]);
    const group = found.get(id) ?? { interval, keys, ...nothing() };
    add(group, row);
    found.set(id, group);
  }
  return [...found.values()];
}

const frame = ({ interval, keys }: Group) => ({
  start: formatInstant(interval.start),
  end: formatInstant(interval.end),
  ...keys,
});

/** One call has several classes: split by class, calls can't be counted. */
const countable = ({ groups }: Grouping, count: number): number | null => (groups.includes("token_class") ? null : count);

export const usageRows = (rows: readonly ReportRow[], buckets: readonly Interval[], grouping: Grouping): UsageRow[] =>
  groupsOf(rows, buckets, grouping).map((group) => ({
    ...frame(group),
    events: countable(grouping, group.events),
    quantities: group.quantities,
  }));

export const costRows = (rows: readonly ReportRow[], buckets: readonly Interval[], grouping: Grouping): CostRow[] =>
  groupsOf(rows, buckets, grouping).map((group) => ({
    ...frame(group),
    events: countable(grouping, group.events),
    list_cost: formatMoney(group.list),
    cost: formatMoney(group.billed),
    unpriced_events: countable(grouping, group.unpriced),
  }));

/** What the rows add up to, all at once or as they come. */
export class Totals {
  readonly #sum = nothing();

  add(rows: readonly ReportRow[]): this {
    for (const row of rows) add(this.#sum, row);
    return this;
  }

  show(): ReportTotals {
    const { events, unpriced, list, billed, quantities } = this.#sum;
    return { events, quantities, list_cost: formatMoney(list), cost: formatMoney(billed), unpriced_events: unpriced };
  }
}

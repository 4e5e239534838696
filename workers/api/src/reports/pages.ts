/**
 * A report's rows a page at a time, so that a report of any size passes through a memory of one page. A group is
 * never cut: its rows are of one moment, and what follows begins after it.
 */
import type { Grouping } from "@sessionplane/shared/report";
import type { Interval } from "@sessionplane/shared/report";
import { type GroupPlace, type ReportRow, type RowLimits, placeOf } from "./query.ts";

/** About 1.5 MB; far more than the classes of one group. */
const PAGE_ROWS = 5_000;
/** Buckets of the first query. Fewer once a page is full, more while none is: a query sums up all of its buckets. */
const FIRST_WIDTH = 16;

/** `buckets`: those that the rows' numbers are of. */
export type ReportPage = { readonly rows: readonly ReportRow[]; readonly buckets: readonly Interval[] };
export type AskPage = (buckets: readonly Interval[], limits: RowLimits) => Promise<readonly ReportRow[]>;

const groupOf = (row: ReportRow, grouping: Grouping): string => JSON.stringify([row.bucket, placeOf(row, grouping)]);

/** Without the last group, which may go on. */
function wholeGroups(rows: readonly ReportRow[], grouping: Grouping): readonly ReportRow[] {
  const last = rows.at(-1);
  if (last === undefined) return rows;
  const unfinished = groupOf(last, grouping);
  const end = rows.findLastIndex((row) => groupOf(row, grouping) !== unfinished);
  if (end === -1) throw new Error("a group has more rows than a page");
  return rows.slice(0, end + 1);
}

export async function* reportPages(
  ask: AskPage,
  buckets: readonly Interval[],
  grouping: Grouping,
  pageRows = PAGE_ROWS,
): AsyncGenerator<ReportPage> {
  let after: GroupPlace | null = null;
  let width = FIRST_WIDTH;
  for (let at = 0; at < buckets.length;) {
    const part = buckets.slice(at, at + width);
    const found: readonly ReportRow[] = await ask(part, { maxRows: pageRows, after });
    const isFull = found.length > pageRows;
    const rows = isFull ? wholeGroups(found, grouping) : found;
    yield { rows, buckets: part };
    const last = rows.at(-1);
    if (isFull && last !== undefined) {
      at += last.bucket;
      after = placeOf(last, grouping);
      width = Math.max(1, Math.floor(width / 2));
    } else {
      at += part.length;
      after = null;
      width *= 2;
    }
  }
}

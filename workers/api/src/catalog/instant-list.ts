/** What every list ordered by an instant takes, and the conditions and order that follow from it. */
import { type SQL, and, asc, desc, eq, gt, gte, lt, lte, or, sql } from "drizzle-orm";
import type { AnySQLiteColumn } from "drizzle-orm/sqlite-core";

export type InstantBounds = { readonly gte?: number; readonly gt?: number; readonly lte?: number; readonly lt?: number };

export type InstantList = {
  readonly limit: number;
  readonly order: "asc" | "desc";
  /** Where the last page ended. */
  readonly cursor?: readonly [instant: number, id: string] | undefined;
  readonly createdAt: InstantBounds;
};

export const within = (column: AnySQLiteColumn, bounds: InstantBounds): SQL | undefined =>
  and(
    bounds.gte === undefined ? undefined : gte(column, bounds.gte),
    bounds.gt === undefined ? undefined : gt(column, bounds.gt),
    bounds.lte === undefined ? undefined : lte(column, bounds.lte),
    bounds.lt === undefined ? undefined : lt(column, bounds.lt),
  );

/** The rows past the cursor, in the list's order; ties of an instant are broken by the id. */
export function pastCursor(
  instant: AnySQLiteColumn,
  id: AnySQLiteColumn | SQL,
  list: Pick<InstantList, "order" | "cursor">,
): SQL | undefined {
  if (list.cursor === undefined) return undefined;
  const [atInstant, atId] = list.cursor;
  const beyond = list.order === "asc" ? gt : lt;
  return or(beyond(instant, atInstant), and(eq(instant, atInstant), beyond(sql`${id}`, atId)));
}

export const inOrder = (instant: AnySQLiteColumn, id: AnySQLiteColumn | SQL, order: "asc" | "desc"): SQL[] =>
  order === "asc" ? [asc(instant), asc(sql`${id}`)] : [desc(instant), desc(sql`${id}`)];

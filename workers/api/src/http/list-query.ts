/** The query parameters that lists share. */
import * as z from "zod";
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT, type Page } from "@sessionplane/shared/page";
import { instantSchema } from "@sessionplane/shared/fields";
import type { InstantBounds } from "../catalog/instant-list.ts";
import { encodeCursor, instantCursorSchema } from "./cursor.ts";

export const limitSchema = z.coerce.number().int().min(1).max(MAX_PAGE_LIMIT).default(DEFAULT_PAGE_LIMIT);
export const orderSchema = z.enum(["asc", "desc"]).default("desc");
export const epochSchema = instantSchema.transform((text) => Date.parse(text));
/** `?name=1`. */
export const flagSchema = z
  .enum(["0", "1"])
  .default("0")
  .transform((text) => text === "1");

export const pageQuery = { limit: limitSchema, order: orderSchema, cursor: instantCursorSchema.optional() };

export const instantBounds = <const N extends string>(name: N) =>
  ({
    [`${name}[gte]`]: epochSchema.optional(),
    [`${name}[gt]`]: epochSchema.optional(),
    [`${name}[lte]`]: epochSchema.optional(),
    [`${name}[lt]`]: epochSchema.optional(),
  }) as Record<`${N}[gte]` | `${N}[gt]` | `${N}[lte]` | `${N}[lt]`, z.ZodOptional<typeof epochSchema>>;

export function boundsOf(query: Record<string, unknown>, name: string): InstantBounds {
  const bounds: { gte?: number; gt?: number; lte?: number; lt?: number } = {};
  for (const key of ["gte", "gt", "lte", "lt"] as const) {
    const value = query[`${name}[${key}]`];
    if (typeof value === "number") bounds[key] = value;
  }
  return bounds;
}

/** A page from one row more than its limit. `position` is where the next one goes on. */
export function pageFrom<T>(
  rows: readonly T[],
  limit: number,
  position: (row: T) => readonly (string | number)[],
  asOf: string | null,
): Page<T> {
  const data = rows.slice(0, limit);
  const last = data.at(-1);
  const hasMore = rows.length > limit;
  return {
    data,
    has_more: hasMore,
    next_cursor: hasMore && last !== undefined ? encodeCursor(position(last)) : null,
    as_of: asOf,
  };
}

/** For lists of what the catalog itself owns: they never lag. */
export const now = (): string => new Date().toISOString();

/** A list that is short by its nature, whole. */
export const wholeList = <T>(data: readonly T[]): Page<T> => ({
  data: [...data],
  has_more: false,
  next_cursor: null,
  as_of: now(),
});

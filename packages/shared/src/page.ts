/** The shape of every list. */
import * as z from "zod";

export const DEFAULT_PAGE_LIMIT = 20;
export const MAX_PAGE_LIMIT = 100;

export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
    as_of: z.iso.datetime().nullable().meta({ description: "The newest fact that this list has applied" }),
  });

export type Page<T> = { data: T[]; has_more: boolean; next_cursor: string | null; as_of: string | null };

/** Lists of a session's own things, newest first by its log: they never lag. */
import * as z from "zod";
import type { Page } from "@sessionplane/shared/page";
import type { SeqPage, SeqQuery } from "@sessionplane/shared/rpc/session-rpc";
import { encodeCursor, seqCursorSchema } from "./cursor.ts";
import { limitSchema, now } from "./list-query.ts";

export const seqPageQuery = z.strictObject({ limit: limitSchema, cursor: seqCursorSchema.optional() });

export const seqQueryOf = ({ limit, cursor }: z.output<typeof seqPageQuery>): SeqQuery => ({
  limit,
  ...(cursor === undefined ? {} : { before_seq: cursor }),
});

export const pageOfSeq = <T>({ items, next_seq: next }: SeqPage<T>): Page<T> => ({
  data: [...items],
  has_more: next !== null,
  next_cursor: next === null ? null : encodeCursor([next]),
  as_of: now(),
});

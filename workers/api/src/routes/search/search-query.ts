/** The parameters that searches share: what is typed, and which messages count. */
import * as z from "zod";
import { roleSchema } from "@sessionplane/shared/message";
import { MAX_QUERY_LENGTH, type SearchFilter } from "@sessionplane/shared/search";
import { instantBounds, boundsOf, limitSchema } from "../../http/list-query.ts";

export const searchParameters = {
  q: z
    .string()
    .max(MAX_QUERY_LENGTH)
    .refine((text) => text.trim() !== "", { message: "give something to search for" })
    .meta({ description: 'Terms that must all be there; "a phrase" in quotes; `begin*`. Nothing is an operator.' }),
  role: roleSchema.optional(),
  limit: limitSchema,
  ...instantBounds("created_at"),
};

type Parameters = { readonly role?: z.output<typeof roleSchema> | undefined };

export function filterOf(parameters: Parameters): SearchFilter {
  const { gte = 0, gt = -1, lte = Infinity, lt = Infinity } = boundsOf(parameters, "created_at");
  const created = { from: Math.max(gte, gt + 1), before: Math.min(lt, lte + 1, Number.MAX_SAFE_INTEGER) };
  return { created, ...(parameters.role !== undefined && { role: parameters.role }) };
}

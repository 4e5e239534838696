/** Searching messages: what is asked, and a hit. The same for one session and for all of a tenant's. */
import * as z from "zod";
import type { Role } from "./message.ts";

/** UTF-16 units of what is typed. */
export const MAX_QUERY_LENGTH = 1_000;

export const searchHitSchema = z
  .object({
    session_id: z.string(),
    message_id: z.string(),
    role: z.string(),
    content: z.string().meta({ description: "The text parts, a line each; the first 4,000 characters" }),
    snippet: z.string().meta({ description: "The place of the match, what was found between « and »; never HTML" }),
    score: z.number().meta({ description: "BM25; higher is better. Comparable within one search alone" }),
    created_at: z.iso.datetime(),
    on_active_path: z.boolean().meta({ description: "Whether the path to the active leaf goes through it" }),
  })
  .meta({ id: "SearchHit" });
export type SearchHit = z.infer<typeof searchHitSchema>;

/** `created`: at least `from`, before `before`; epoch milliseconds. */
export type SearchFilter = {
  readonly role?: Role;
  readonly created: { readonly from: number; readonly before: number };
};

/** A page ended behind this hit. */
export type SearchPlace = { readonly score: number; readonly seq: number };

export type SessionSearch = SearchFilter & {
  readonly q: string;
  readonly limit: number;
  readonly after?: SearchPlace;
  /** Only on the path to the active leaf, or to this one. */
  readonly on_active_path?: boolean;
  readonly leaf_id?: string;
};
/** Hits that a tenant's index found in a session, which shows them. */
export type FoundInSession = { readonly q: string; readonly places: readonly SearchPlace[] };
export type SearchPage = { readonly hits: readonly SearchHit[]; readonly next: SearchPlace | null };

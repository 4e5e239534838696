/**
 * What a tenant's search object offers to `api`. `TenantSearch` implements it. It knows where words are, not
 * what messages say: the sessions themselves show what was found.
 */
import type { ClearFact, RemovalFact, TextFact } from "../queue/fact.ts";
import type { SearchFilter } from "../search.ts";

export type IndexFact = TextFact | RemovalFact | ClearFact;
/** What a session's log says of its texts in `(after_seq, to_seq]`. */
export type TextStretch = {
  readonly session_id: string;
  readonly after_seq: number;
  readonly to_seq: number;
  readonly facts: readonly IndexFact[];
};

/** A page ended behind this text; `doc` is the index's own number of it. */
export type IndexPlace = { readonly score: number; readonly doc: number };
export type IndexQuery = SearchFilter & {
  readonly q: string;
  readonly limit: number;
  readonly session_id?: string;
  /** Only in these sessions. */
  readonly session_ids?: readonly string[];
  readonly after?: IndexPlace;
};

export type IndexHit = { readonly session_id: string; readonly seq: number; readonly score: number };
/** A session's log is in the index up to this seq, without a gap. */
export type Completeness = { readonly session_id: string; readonly seq: number };
export type IndexPage = {
  readonly hits: readonly IndexHit[];
  readonly next: IndexPlace | null;
  /** Of the sessions that were hit, and of the one that was asked for. */
  readonly complete_through: readonly Completeness[];
  /** When the index last learnt something; epoch milliseconds, null: never. */
  readonly applied_at: number | null;
};

export interface TenantSearchRpc {
  /** Idempotent, and in any order: older never overwrites newer. */
  apply(stretches: readonly TextStretch[]): Promise<void>;
  search(query: IndexQuery): Promise<IndexPage>;
}

/** The binding, as far as callers use it: a tenant's id gives its object, and a call of it may throw. */
export interface TenantSearchNamespace {
  getByName(name: string): TenantSearchRpc;
}

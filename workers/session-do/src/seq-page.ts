/** A page of rows, newest first by seq, from one row more than its limit. Pure. */
import type { SeqPage } from "@sessionplane/shared/rpc/session-rpc";

export function seqPage<R extends { readonly seq: number }, T>(
  rows: readonly R[],
  limit: number,
  show: (row: R) => T,
): SeqPage<T> {
  const shown = rows.slice(0, limit);
  return { items: shown.map(show), next_seq: rows.length > limit ? (shown.at(-1)?.seq ?? null) : null };
}

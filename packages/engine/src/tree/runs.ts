/** Paths as ranges of seq. Pure. */
/** A run begins at `first`, below `parent`; a parent of 0 is none. */
export type Run = { readonly first: number; readonly parent: number };
/** A run's last message that is still there, and whether (1) the message that it was begun below is. */
export type RunEnd = { readonly parent_seq: number; readonly last: number | null; readonly parent_stands: number };
/** Both ends included. */
export type Range = { readonly first: number; readonly last: number };

export const contains = (path: readonly Range[], seq: number): boolean =>
  path.some(({ first, last }) => seq >= first && seq <= last);

/** The part of the path with `from <= seq <= to`. */
export const within = (path: readonly Range[], from: number, to: number): Range[] =>
  path.flatMap(({ first, last }) => {
    const range = { first: Math.max(first, from), last: Math.min(last, to) };
    return range.first <= range.last ? [range] : [];
  });

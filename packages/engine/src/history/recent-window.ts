/**
 * The longest run that fits: of the newest messages for a recent window, of the next ones for a page or a
 * piece of a stream. Pure; reads no further than the first that does not fit.
 */
export type Sized = { readonly tokens: number; readonly bytes: number };

/** What a page or a window of a stream holds at most, unless one message alone is larger. */
export const MAX_PAGE_BYTES = 4 * 1024 * 1024;

export type Limits = { readonly count: number; readonly bytes: number; readonly tokens: number };

/** Takes messages while they fit; the first is always taken. `more` tells whether something was left. */
export function take<T extends Sized>(reads: Iterable<T>, limits: Limits): { readonly taken: T[]; readonly more: boolean } {
  const taken: T[] = [];
  let bytes = 0;
  let tokens = 0;
  for (const read of reads) {
    bytes += read.bytes;
    tokens += read.tokens;
    const fits = taken.length < limits.count && bytes <= limits.bytes && tokens <= limits.tokens;
    if (!fits && taken.length > 0) return { taken, more: true };
    taken.push(read);
  }
  return { taken, more: false };
}

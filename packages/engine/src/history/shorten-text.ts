/**
 * Texts cut for a model. Pure. A cut falls between code points: half a surrogate pair is no character, and
 * providers refuse it. Source of the suffix: Cloudflare's Agents packages.
 */

/** What stands for the rest of a text of so many characters. */
const suffixOf = (characters: number): string => `... [truncated ${characters} chars]`;
const SUFFIX = /\.\.\. \[truncated \d+ chars\]$/;
/** No text is longer than such a number says. */
const MAX_SUFFIX_CHARS = suffixOf(Number.MAX_SAFE_INTEGER).length;

/** Characters that a value takes as JSON. */
export const jsonChars = (text: string): number => JSON.stringify(text).length;

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** At most so many characters of a text, one fewer where the last would be half a pair. */
function prefixOf(text: string, characters: number): string {
  const splitsPair = isHigh(text.charCodeAt(characters - 1)) && isLow(text.charCodeAt(characters));
  return text.slice(0, splitsPair ? characters - 1 : characters);
}

/** Whether a text is what `shortenText` made of a longer one. */
function isShortened(text: string, max: number): boolean {
  const suffix = text.length > max + MAX_SUFFIX_CHARS ? null : SUFFIX.exec(text.slice(-MAX_SUFFIX_CHARS));
  return suffix !== null && text.length - suffix[0].length <= max;
}

/** A longer text as its first `max` characters and a suffix, which says how long it was. */
export const shortenText = (text: string, max: number): string =>
  text.length <= max || isShortened(text, max) ? text : prefixOf(text, max) + suffixOf(text.length);

/** A longer text in `max` characters, suffix included. */
export function fitText(text: string, max: number): string {
  if (text.length <= max) return text;
  const suffix = suffixOf(text.length);
  return max <= suffix.length ? suffix.slice(0, max) : prefixOf(text, max - suffix.length) + suffix;
}

const QUOTES = 2;

/** The same for a text inside a value: `max` characters of JSON, in which some characters take several. */
export function fitJsonText(text: string, max: number): string {
  if (text.length + QUOTES <= max && jsonChars(text) <= max) return text;
  const suffix = suffixOf(text.length);
  const room = max - QUOTES - suffix.length;
  if (room <= 0) return suffix.slice(0, Math.max(0, max - QUOTES));
  let kept = prefixOf(text, room);
  for (let chars = jsonChars(kept) - QUOTES; chars > room; chars = jsonChars(kept) - QUOTES)
    kept = prefixOf(kept, Math.min(kept.length - 1, Math.floor((kept.length * room) / chars)));
  return kept + suffix;
}

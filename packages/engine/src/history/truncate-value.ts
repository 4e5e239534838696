/**
 * A tool's output cut to a number of characters, with its shape: an object stays an object and an array an
 * array, since what turns an output into a model's input reads its fields and fails on a text, on every call
 * (cloudflare/agents#1498). Pure. Linear: sizes are measured once, and of what is cut only what is kept is
 * walked again.
 */
import { fitJsonText, fitText, jsonChars } from "./shorten-text.ts";

/** Deeper, what does not fit is left out whole. */
const MAX_DEPTH = 8;
/** What an item of a long array may take. */
const MIN_ITEM_CHARS = 80;
const MAX_SHARES = 10;
/** In less, an array has no room for an item beside the marker. */
const MIN_ARRAY_CHARS = 2 * MIN_ITEM_CHARS;
const NOTE = "Left out: too long.";
const EMPTY_CHARS = 2;
/** The opening bracket. After each member stands a comma or the closing one. */
const OPENING = 1;
const SEPARATOR = 1;

type Json = Readonly<Record<string, unknown>>;
/** A value and the characters that it takes as JSON. */
type Sized = { readonly value: unknown; readonly chars: number };
/** The characters of each object and array of an output. */
type Sizes = ReadonlyMap<object, number>;

const isContainer = (value: unknown): value is Json => typeof value === "object" && value !== null;
/** A value that says itself how it is written, such as a date: nothing in it can be cut. */
const isOpaque = (value: Json): boolean => "toJSON" in value;

/** A key and its colon. */
const keyChars = (key: string): number => jsonChars(key) + 1;
const leafChars = (value: unknown): number => (typeof value === "string" ? jsonChars(value) : String(value).length);

function measure(value: unknown, sizes: Map<object, number>): number {
  if (!isContainer(value)) return leafChars(value);
  let chars = OPENING;
  if (isOpaque(value)) chars = (JSON.stringify(value) ?? "").length;
  else if (Array.isArray(value)) for (const item of value) chars += measure(item, sizes) + SEPARATOR;
  else for (const key of Object.keys(value)) chars += keyChars(key) + measure(value[key], sizes) + SEPARATOR;
  chars = Math.max(chars, EMPTY_CHARS);
  sizes.set(value, chars);
  return chars;
}

const charsOf = (value: unknown, sizes: Sizes): number => (isContainer(value) ? (sizes.get(value) ?? 0) : leafChars(value));

const sized = (value: unknown): Sized => ({ value, chars: measure(value, new Map()) });

/** What stands for a value of so many characters. */
function markerFor(value: Json, chars: number, max: number): Sized {
  const marker = (note: object): Sized => {
    const one = { __truncated: true, __truncatedChars: chars, ...note };
    return sized(Array.isArray(value) ? [one] : one);
  };
  const explained = marker({ note: NOTE });
  return explained.chars <= max ? explained : marker({});
}

const MAX_MARKER_CHARS = sized([{ __truncated: true, __truncatedChars: Number.MAX_SAFE_INTEGER, note: NOTE }]).chars;

/** Whether a value is a marker already. */
function isMarker(value: Json, chars: number): boolean {
  const marker: unknown = Array.isArray(value) ? value[0] : value;
  return chars <= MAX_MARKER_CHARS && isContainer(marker) && "__truncatedChars" in marker;
}

/** The characters that each member may take, so that all do: one that takes less leaves the rest to the others. */
function fairShare(chars: readonly number[], room: number): number {
  let left = room;
  for (const [index, one] of chars.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(left / (chars.length - index));
    if (one > share) return share;
    left -= one;
  }
  return room;
}

/** Every key, its member cut; null when that does not fit. */
function cutObject(value: Json, max: number, depth: number, sizes: Sizes): Sized | null {
  const entries = Object.entries(value);
  const frame = entries.reduce((sum, [key]) => sum + keyChars(key) + SEPARATOR, OPENING);
  // A member takes a character at least.
  if (frame + entries.length > max) return null;
  const members = entries.map(([, member]) => charsOf(member, sizes));
  const share = fairShare(members, max - frame);
  const kept = entries.map(([key, member]) => ({ key, ...cut(member, share, depth + 1, sizes) }));
  const chars = kept.reduce((sum, member) => sum + member.chars, frame);
  return chars > max ? null : { value: Object.fromEntries(kept.map(({ key, value }) => [key, value])), chars };
}

/** The first items that fit, each cut, and a marker for the others; null when not even one does. */
function cutArray(value: readonly unknown[], chars: number, max: number, depth: number, sizes: Sizes): Sized | null {
  if (max < MIN_ARRAY_CHARS) return null;
  const shares = Math.min(value.length, MAX_SHARES);
  const share = Math.max(MIN_ITEM_CHARS, Math.floor((max - OPENING) / shares) - SEPARATOR);
  const marker = sized({ __truncated: true, __truncatedChars: chars });
  const kept: unknown[] = [];
  let taken = OPENING;
  let fitting = { items: 0, chars: 0 };
  for (const item of value) {
    const next = cut(item, share, depth + 1, sizes);
    taken += next.chars + SEPARATOR;
    if (taken > max) break;
    kept.push(next.value);
    if (taken + marker.chars + SEPARATOR <= max) fitting = { items: kept.length, chars: taken + marker.chars + SEPARATOR };
  }
  if (kept.length === value.length) return { value: kept, chars: taken };
  return fitting.items === 0 ? null : { value: [...kept.slice(0, fitting.items), marker.value], chars: fitting.chars };
}

function cut(value: unknown, max: number, depth: number, sizes: Sizes): Sized {
  const chars = charsOf(value, sizes);
  if (chars <= max) return { value, chars };
  if (typeof value === "string") return sized(fitJsonText(value, max));
  if (!isContainer(value) || isMarker(value, chars)) return { value, chars };
  const marker = markerFor(value, chars, max);
  if (chars <= marker.chars) return { value, chars };
  if (depth >= MAX_DEPTH || isOpaque(value)) return marker;
  const kept = Array.isArray(value) ? cutArray(value, chars, max, depth, sizes) : cutObject(value, max, depth, sizes);
  return kept ?? marker;
}

/**
 * The output in at most `max` characters of JSON (a text: `max` of its own), or its marker where that is
 * longer. The same value when it fits, or when a marker would be no shorter.
 */
export function truncateValue(value: unknown, max: number): unknown {
  if (typeof value === "string") return fitText(value, max);
  if (!isContainer(value)) return value;
  const sizes = new Map<object, number>();
  return measure(value, sizes) <= max ? value : cut(value, max, 0, sizes).value;
}

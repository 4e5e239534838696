import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { truncateValue } from "./truncate-value.ts";

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const chars = (value: unknown): number => (typeof value === "string" ? value : JSON.stringify(value)).length;

/** Any JSON, also with what is cut at the seam: characters of two units, escapes, lone surrogates. */
const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 400 }),
  fc.string({ unit: fc.constantFrom("a", "😀", "\n", '"', "\ud83d") }),
);
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 10, withCrossShrink: true },
    anyText,
    fc.oneof(fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie("value"), { maxLength: 12 }),
    fc.dictionary(fc.string({ maxLength: 8 }), tie("value"), { maxKeys: 12 }),
  ),
})).value;
const limit = fc.integer({ min: 0, max: 700 });

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(freeze);
  return value;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What a reader of the original would find in the cut one: the same kinds at the same places, or a marker. */
function expectShape(cut: unknown, original: unknown): void {
  if (isObject(cut) && "__truncatedChars" in cut) return;
  if (Array.isArray(original)) {
    expect(Array.isArray(cut)).toBe(true);
    (cut as unknown[]).forEach((item, index) => expectShape(item, original[index]));
  } else if (isObject(original)) {
    expect(isObject(cut)).toBe(true);
    expect(Object.keys(original)).toEqual(Object.keys(cut as object));
    for (const [key, member] of Object.entries(cut as object)) expectShape(member, original[key]);
  } else expect(typeof cut).toBe(typeof original);
}

const loneSurrogates = (value: unknown): number => JSON.stringify(value).match(/\\ud[89a-f]/g)?.length ?? 0;

describe("any output", () => {
  test("keeps its shape, is not changed itself, and is as it was when it fits", () => {
    fc.assert(
      fc.property(json, limit, (value, max) => {
        const cut = truncateValue(freeze(value), max);
        expectShape(cut, value);
        if (chars(value) <= max) expect(cut).toBe(value);
      }),
    );
  });

  test("is no longer than the limit or than the smallest marker, and never longer than before", () => {
    fc.assert(
      fc.property(json, limit, (value, max) => {
        const marker = [{ __truncated: true, __truncatedChars: chars(value) }];
        const bound = typeof value === "object" ? Math.max(max, chars(marker)) : max;
        const cut = truncateValue(value, max);
        expect(chars(cut)).toBeLessThanOrEqual(chars(value));
        if (typeof value === "object" || typeof value === "string") expect(chars(cut)).toBeLessThanOrEqual(bound);
      }),
    );
  });

  test("is the same when it is cut again", () => {
    fc.assert(
      fc.property(json, limit, (value, max) => {
        const cut = truncateValue(value, max);
        expect(truncateValue(cut, max)).toBe(cut);
      }),
    );
  });

  test("has no half of a surrogate pair that it had not", () => {
    fc.assert(
      fc.property(json, limit, (value, max) => {
        expect(loneSurrogates(truncateValue(value, max))).toBeLessThanOrEqual(loneSurrogates(value));
      }),
    );
  });
});

test("an object keeps its fields, and the long one is cut to the room that the others leave", () => {
  const cut = truncateValue({ path: "/large.txt", content: "x".repeat(1_000), totalLines: 1 }, 100);
  expect(cut).toEqual({ path: "/large.txt", content: `${"x".repeat(25)}... [truncated 1000 chars]`, totalLines: 1 });
  expect(chars(cut)).toBe(100);
});

test("a text stays a text of exactly so many characters", () => {
  expect(truncateValue("z".repeat(1_000), 100)).toBe(`${"z".repeat(74)}... [truncated 1000 chars]`);
  expect(truncateValue("z".repeat(1_000), 10)).toBe("... [trunc");
  expect(truncateValue("z".repeat(1_000), 0)).toBe("");
});

test("arrays that have no room are their marker each", () => {
  const long = numbers(1_000);
  const cut = truncateValue({ a: long, b: long, c: long, d: long, e: long, f: long, g: long }, 500);
  const marker = [{ __truncated: true, __truncatedChars: chars(long) }];
  expect(cut).toEqual({ a: marker, b: marker, c: marker, d: marker, e: marker, f: marker, g: marker });
});

test("an array keeps its first items and says that there were more", () => {
  const cut = truncateValue(numbers(1_000), 500) as unknown[];
  expect(cut.slice(0, -1)).toEqual(numbers(cut.length - 1));
  expect(cut.length).toBeGreaterThan(100);
  expect(cut.at(-1)).toEqual({ __truncated: true, __truncatedChars: chars(numbers(1_000)) });
});

test("an object of too many fields is a marker that says how long it was", () => {
  const wide = Object.fromEntries(numbers(140_000).map((index) => [`key-${index}`, index]));
  expect(truncateValue(wide, 500)).toEqual({ __truncated: true, __truncatedChars: chars(wide), note: "Left out: too long." });
});

test("what is nested deeper than eight is left out whole, in its kind", () => {
  let deep: unknown = ["x".repeat(1_000)];
  for (let depth = 0; depth < 8; depth += 1) deep = { deep };
  let cut = truncateValue(deep, 500) as { deep: unknown };
  for (let depth = 0; depth < 7; depth += 1) cut = cut.deep as typeof cut;
  expect(cut.deep).toEqual([{ __truncated: true, __truncatedChars: 1_004, note: "Left out: too long." }]);
});

test("a date stays one, and what is not JSON breaks nothing", () => {
  const at = new Date(0);
  const odd = { at, gone: undefined, unsaid: { toJSON: () => undefined }, large: 10n ** 30n };
  expect(truncateValue({ ...odd, text: "x".repeat(900) }, 600)).toMatchObject({ at, large: odd.large });
});

test("an output of megabytes is cut at once", () => {
  const rows = numbers(60_000).map((id) => ({ id, name: `name ${id}`, ok: true, more: { id } }));
  const started = performance.now();
  truncateValue({ rows }, 500);
  truncateValue({ text: 'é"'.repeat(1_500_000) }, 500);
  expect(performance.now() - started).toBeLessThan(2_000);
});

/** JSON as it arrives from outside: the one walk that refuses what storage would change or choke on. Pure. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** Deeper than any message of a model, and far below what a recursive `JSON.stringify` survives. */
export const MAX_JSON_DEPTH = 64;

export type JsonFault = { pointer: string; code: "lone_surrogate" | "too_deep" | "not_finite" | "proto_key" };

const pointerToken = (key: string | number): string => String(key).toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1");

/**
 * The first value that would be stored as another, or null: a lone surrogate, a number that is infinite
 * once it is read, a key `__proto__`, or nesting that is too deep. Iterative: the input may be nested
 * deeper than the stack.
 */
export function findJsonFault(root: unknown): JsonFault | null {
  const stack: { value: unknown; pointer: string; depth: number }[] = [{ value: root, pointer: "", depth: 0 }];
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    const { value, pointer, depth } = item;
    if (typeof value === "string") {
      if (!value.isWellFormed()) return { pointer, code: "lone_surrogate" };
      continue;
    }
    if (typeof value === "number" && !Number.isFinite(value)) return { pointer, code: "not_finite" };
    if (value === null || typeof value !== "object") continue;
    if (depth >= MAX_JSON_DEPTH) return { pointer, code: "too_deep" };
    const entries = Array.isArray(value) ? value.entries() : Object.entries(value);
    for (const [key, child] of entries) {
      const at = `${pointer}/${pointerToken(key)}`;
      if (typeof key === "string" && !key.isWellFormed()) return { pointer: at, code: "lone_surrogate" };
      if (key === "__proto__") return { pointer: at, code: "proto_key" };
      stack.push({ value: child, pointer: at, depth: depth + 1 });
    }
  }
  return null;
}

/** JSON with sorted keys, so that equal values have equal text. For fingerprints. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

const hex = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** SHA-256 of a text's UTF-8, in hex. */
export const sha256 = async (text: string): Promise<string> =>
  hex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));

/**
 * Literal facts: what a summary must carry word for word or lose. Identifiers, amounts, dates, URLs, e-mail
 * addresses, paths, numbers with their units, quotations. Pure.
 */
import type { Message } from "@sessionplane/shared/message";
import { isToolPart } from "./transcript.ts";

const MAX_FACT_LENGTH = 200;

/** Matched in this order; what one has taken the next does not see. */
const PATTERNS: readonly RegExp[] = [
  /\bhttps?:\/\/[^\s<>"'`)\]}]+[^\s<>"'`)\]}.,;:!?]/g,
  /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g,
  /["“”]([^"“”\n]{3,120})["“”]/g,
  /(?<![\w/])(?:~|\.{1,2})?(?:\/[\w.@-]+){2,}\/?/g,
  /\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?\b/g,
  /\b(?:\d{1,2}(?:st|nd|rd|th)? )?(?:January|February|March|April|May|June|July|August|September|October|November|December)(?: \d{1,2}(?:st|nd|rd|th)?)?(?:,? \d{4})?\b/g,
  /(?:[$€£¥]\s?\d[\d,]*(?:\.\d+)?|\b\d[\d,]*(?:\.\d+)?\s?(?:USD|EUR|GBP|CZK|JPY)\b)/g,
  /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi,
  // Codes: letters with digits, or words joined by underscores that end in one: ABC123, v2.4.1, user_li_3668.
  /\b(?=[\w.-]*\d)(?=[\w.-]*[A-Za-z])[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*\b/g,
  /\b[A-Z]{2,}[A-Z0-9]*(?:[-_][A-Z0-9]+)+\b/g,
  /\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp]\.?[Mm]\b)?/g,
  /\b\d[\d,]*(?:\.\d+)?\s?(?:%|(?:kg|g|km|m|cm|mm|GB|MB|KB|TB|ms|s|min|h|hours?|minutes?|seconds?|days?|weeks?|months?|years?|tokens?|bags?|passengers?)\b)/g,
  /\b\d{2,}(?:[.,]\d+)*\b/g,
];

/** Each fact once, in the order of its first mention. */
export function factsOf(text: string): string[] {
  const found = new Map<string, number>();
  let rest = text;
  for (const pattern of PATTERNS) {
    rest = rest.replace(pattern, (match: string, ...groups: unknown[]) => {
      const fact = (typeof groups[0] === "string" ? groups[0] : match).trim();
      const at = groups.find((group): group is number => typeof group === "number") ?? 0;
      if (fact.length > 1 && fact.length <= MAX_FACT_LENGTH && !found.has(fact)) found.set(fact, at);
      // Blanks keep the positions of what follows.
      return " ".repeat(match.length);
    });
  }
  return [...found].toSorted(([, a], [, b]) => a - b).map(([fact]) => fact);
}

/** The strings and numbers of a JSON value, without its keys and quotes. */
function* valuesOf(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "number") yield String(value);
  else if (Array.isArray(value)) for (const item of value) yield* valuesOf(item);
  else if (typeof value === "object" && value !== null) for (const item of Object.values(value)) yield* valuesOf(item);
}

function parsed(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[{[]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** The text of a message in which facts are looked for: what was said, and the values that tools took and gave. */
export const factText = (message: Message): string =>
  message.parts
    .flatMap((part) => {
      if (isToolPart(part)) return [...valuesOf(parsed(part["input"])), ...valuesOf(parsed(part["output"] ?? part["result"]))];
      return typeof part["text"] === "string" && part.type === "text" ? [part["text"]] : [];
    })
    .join("\n");

/**
 * Literal facts: what a summary must carry word for word or lose. Identifiers, amounts, dates, URLs, e-mail
 * addresses, paths, numbers with their units, quotations. Pure.
 */
import type { Message } from "@sessionplane/shared/message";
import { isToolPart } from "./transcript.ts";

const MAX_FACT_LENGTH = 200;

/** The patterns look ahead and back: in text without spaces that takes the square of its length. */
const MAX_RUN = 240;
/** Encoded bytes: nobody quotes them. */
const BLOB = new RegExp(`[\\w+/=.:-]{${MAX_RUN},}`, "g");
const LONG_RUN = new RegExp(`\\S{${MAX_RUN},}`, "g");
const RUN_PIECE = new RegExp(`\\S{1,${MAX_RUN}}`, "gu");

const boundRuns = (text: string): string =>
  text.replace(BLOB, " ").replace(LONG_RUN, (run) => (run.match(RUN_PIECE) ?? []).join("\n"));

const MONTH =
  "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\\.?";
const DAY = "\\d{1,2}(?:st|nd|rd|th)?";
const UNIT =
  "(?:kg|g|lbs?|km|m|cm|mm|miles?|GB|MB|KB|TB|GiB|MiB|ms|s|min|h|hours?|minutes?|seconds?|days?|weeks?|months?|years?|tokens?|bags?|passengers?)";
const NUMBER = "\\d+(?:[.,]\\d+)*";

/** Matched in this order; what one has taken the next does not see. */
const PATTERNS: readonly RegExp[] = [
  // URLs and e-mail addresses.
  /\bhttps?:\/\/[^\s<>"'`)\]}]*[^\s<>"'`)\]}.,;:!?]/g,
  /(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+/g,
  // Quotations.
  /["“”„]([^"“”„\n]{3,120})["“”]/g,
  // Dates, then times of day: 2024-05-15T15:00Z, 5/15/2024, May 15, 2024, 15 May 2024, 2024年5月15日, 3:30 pm.
  /\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?\b/g,
  /\b\d{1,2}[/.]\d{1,2}[/.]\d{4}\b/g,
  new RegExp(`\\b${DAY} (?:of )?${MONTH}(?:,? \\d{4})?\\b|\\b${MONTH} ${DAY}(?:,? \\d{4})?\\b|\\b${MONTH} \\d{4}\\b`, "g"),
  /\d{4}年\d{1,2}月(?:\d{1,2}日)?|\d{1,2}月\d{1,2}日/g,
  /\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp]\.?[Mm]\b)?/g,
  // Paths: /etc/hosts, ./a/b, ~/x/y, src/plan.ts, C:\a\b.txt.
  /(?<![\w/])(?:(?:~|\.{1,2})\/[\w@-][\w.@-]*(?:\/[\w.@-]+)*|(?:\/[\w.@-]+){2,})(?<!\.)\/?/g,
  /(?<![\w/@.-])(?:[\w@-]+\/)+[\w.@-]*\.[A-Za-z]\w{0,7}\b/g,
  /\b[A-Za-z]:\\[\w.\\-]*[\w-]/g,
  // Amounts: a currency before or after.
  new RegExp(`[$€£¥₹]\\s?${NUMBER}|\\b${NUMBER}\\s?(?:(?:USD|EUR|GBP|CHF|CZK|JPY|CNY|INR)\\b|[€£¥円元])`, "g"),
  // Telephone numbers.
  /\+\d{1,3}[\s-]?(?:\(\d{1,4}\)[\s-]?)?\d{2,4}(?:[\s-]\d{2,4}){1,4}\b/g,
  // Identifiers: UUIDs; letters with digits, joined or not (HAT123, v2.4.1, user_li_3668); capitals joined (ERROR_CODE).
  /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi,
  /\b(?=[\w.-]{0,60}\d)(?=[\w.-]{0,60}[A-Za-z])[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*\b/g,
  /\b[A-Z]{2,}[A-Z0-9]*(?:[-_][A-Z0-9]+)+\b/g,
  /#\d+\b/g,
  // Numbers: with a unit; otherwise of two digits or more.
  new RegExp(`\\b${NUMBER}\\s?(?:%|${UNIT}\\b)`, "g"),
  /\b(?:\d+(?:[.,]\d+)+|\d{2,})\b/g,
];

/** Each fact once, in the order of its first mention. */
export function factsOf(text: string): string[] {
  const found = new Map<string, number>();
  let rest = boundRuns(text);
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
      if (isToolPart(part)) {
        return [part["input"], part["output"] ?? part["result"], part["errorText"]].flatMap((value) => [
          ...valuesOf(parsed(value)),
        ]);
      }
      if (part.type === "source-url") return [...valuesOf(part["url"])];
      return typeof part["text"] === "string" && part.type === "text" ? [part["text"]] : [];
    })
    .join("\n");

const SOURCE_ID = / \[[^\]\n]+\]$/;

/** A summary's line without the id of the message that it is from, which ends it and is no fact. */
export const withoutSource = (line: string): string => line.replace(SOURCE_ID, "");

/** The text of an earlier summary in which facts are looked for. */
export const summaryFactText = (summary: string): string => summary.split("\n").map(withoutSource).join("\n");

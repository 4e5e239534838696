/**
 * What a person types, as a query that SQLite's FTS5 takes: terms that must all be there, "phrases" in quotes,
 * `begin*`. Nothing that is typed is an operator or an error. Pure.
 */
import { normalText, wordsOf } from "./words.ts";

/** Words in a row. `prefix`: the last one may go on. */
export type Term = { readonly spellings: readonly string[]; readonly stems: readonly string[]; readonly prefix: boolean };

const PIECES = /["“”„]([^"“”„]*)(?:["“”„]|$)(\*?)|[^\s"“”„]+/g;

function termOf(text: string, prefix: boolean): Term {
  const words = [...wordsOf(text)];
  return { spellings: words.map((word) => word.spelling), stems: words.map((word) => word.stem), prefix };
}

/** Each term once. None when there is nothing in the text that could be found. */
export function parseQuery(text: string): Term[] {
  const terms = new Map<string, Term>();
  for (const [piece, phrase, star] of normalText(text).matchAll(PIECES)) {
    const term = phrase === undefined ? termOf(piece, piece.endsWith("*")) : termOf(phrase, star === "*");
    if (term.stems.length > 0) terms.set(JSON.stringify(term), term);
  }
  return [...terms.values()];
}

/** Words have no quotes in them. */
const phraseOf = (words: readonly string[]): string => `"${words.join(" ")}"`;

/** The index has stems, in order, and spellings that are not their own stem, which `begin*` looks among too. */
function expressionOf({ spellings, stems, prefix }: Term): string {
  const last = spellings.at(-1);
  if (!prefix || last === undefined) return `stems : ${phraseOf(stems)}`;
  const before = stems.slice(0, -1);
  if (before.length === 0) return `{stems spellings} : "${last}" *`;
  const inOrder = `stems : ${phraseOf([...before, last])} *`;
  return `(${inOrder} OR (stems : ${phraseOf(before)} AND spellings : "${last}" *))`;
}

/** Null when nothing can match. */
export const matchExpression = (terms: readonly Term[]): string | null =>
  terms.length === 0 ? null : terms.map(expressionOf).join(" AND ");

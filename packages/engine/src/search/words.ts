/**
 * Text as the words that are searched for: the same for what is indexed, asked and marked. A word is a run of
 * letters and digits, without case and accents; where a script has no spaces between words, and of emoji, each
 * character is one, so that any part of a sentence is found as a phrase. Pure; takes any string.
 */
import { stemOf } from "./stem.ts";

/** One word: where it is in the text (in UTF-16 units), as it is spelt, and its stem. */
export type Word = { readonly start: number; readonly end: number; readonly spelling: string; readonly stem: string };

/** Longer ones are known by their beginning. */
export const MAX_WORD_UNITS = 200;

/** Rises with every change of what a word is here or in `stem.ts`: an index of other words is made anew. */
export const WORDS_VERSION = 1;

const UNSPACED = ["Han", "Hira", "Kana", "Hang", "Bopo", "Thai", "Laoo", "Khmr", "Mymr"]
  .map((script) => `\\p{scx=${script}}`)
  .join("");
const LETTERS = "\\p{L}\\p{N}\\p{M}\\p{Co}";
/** A half-width kana and its voice mark are one. */
const CHARACTER = `[[${UNSPACED}]&&[${LETTERS}]][\\u3099\\u309A\\uFF9E\\uFF9F]*`;
const RUN = `[[${LETTERS}]--[${UNSPACED}]]+`;
const WORD = new RegExp(`${CHARACTER}|${RUN}|[\\p{Extended_Pictographic}\\p{RI}]`, "gv");
const IS_ASCII = /^[\w]*$/;
/** Accents of European scripts, vowel points of Hebrew and Arabic. Signs of Indic scripts are part of a word. */
const ACCENTS = /[\u0300-\u036F\u0591-\u05C7\u064B-\u065F\u0670]/g;

/** What a search of text sees of it; places of words are in this. */
export const normalText = (text: string): string => text.normalize("NFC");

const folded = (word: string): string =>
  IS_ASCII.test(word)
    ? word.toLowerCase()
    : word.normalize("NFKD").toLowerCase().replaceAll(ACCENTS, "").replaceAll("ς", "σ").normalize("NFC");

/** Not between the halves of a character. */
const cut = (word: string): string =>
  word.length <= MAX_WORD_UNITS ? word : word.slice(0, MAX_WORD_UNITS).replace(/[\uD800-\uDBFF]$/, "");

type Form = Pick<Word, "spelling" | "stem">;

/** Folding may take a character apart: "½" is two words. */
function formsOf(found: string): Form[] {
  const word = folded(cut(found));
  const spellings = IS_ASCII.test(word) ? [word] : (word.match(WORD) ?? []);
  return spellings.map((spelling) => ({ spelling, stem: stemOf(spelling) }));
}

/** Texts repeat their words: what was worked out is kept, and all of it dropped when it is too much. */
const MAX_KNOWN = 20_000;
/** A longer piece of a text would keep the whole text in memory. */
const MAX_KNOWN_UNITS = 12;
const known = new Map<string, Form[]>();

function knownFormsOf(found: string): Form[] {
  if (found.length > MAX_KNOWN_UNITS) return formsOf(found);
  const before = known.get(found);
  if (before !== undefined) return before;
  if (known.size >= MAX_KNOWN) known.clear();
  const forms = formsOf(found);
  known.set(found, forms);
  return forms;
}

/** The words of a text that `normalText` gave. */
export function* wordsOf(text: string): Generator<Word> {
  for (const { 0: found, index: start } of text.matchAll(WORD)) {
    const end = start + found.length;
    for (const { spelling, stem } of knownFormsOf(found)) {
      yield { start, end, spelling, stem };
    }
  }
}

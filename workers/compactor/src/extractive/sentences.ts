/** Texts as sentences, and what is one only by its place. Pure. */
import { takeFitting } from "@sessionplane/engine/compaction/fit";
import { cut } from "@sessionplane/engine/compaction/transcript";

const MIN_SENTENCE_LENGTH = 12;
/** In tokens. Longer ones are lists or data: cut, so that one can't fill the summary. */
const MAX_SENTENCE_TOKENS = 100;
const MIN_WORDS_OF_A_CUT = 3;
const CJK = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]{4}/u;

/** As many whole words as fit; of a text without words, characters. */
export function shortened(text: string, tokens: number): string {
  const words = text.split(" ");
  const fits = takeFitting(words, " ", tokens - 1);
  if (fits.length === words.length) return text;
  return fits.length < MIN_WORDS_OF_A_CUT ? cut(text, Math.max(1, Math.floor(tokens) - 1)) : `${fits.join(" ")}…`;
}

/** Sentences of a text, trimmed; a line break ends one too. */
export const sentencesOf = (text: string): string[] =>
  text
    .split(/(?<=[.!?。！？])\s+|(?<=[。！？])|\n+/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence.length >= MIN_SENTENCE_LENGTH || CJK.test(sentence))
    // Below so many characters it has no more tokens.
    .map((sentence) => (sentence.length > MAX_SENTENCE_TOKENS ? shortened(sentence, MAX_SENTENCE_TOKENS) : sentence));

const ANNOUNCES = /[:：]$/;
const LABELLED = /^[^:：.!?]{1,30}[:：] .{1,40}(?<![.!?])$/;
const CODE = /[;{}()[\],=]$| = /;
const FEW_WORDS = /^\S+(?: \S+){0,2}$/;
const ENDED = /[.!?。！？]["”'’)]*$/;

/** A line of a list, a heading, or code: it says little away from its place. */
export const isFragment = (sentence: string): boolean =>
  ANNOUNCES.test(sentence) ||
  LABELLED.test(sentence) ||
  CODE.test(sentence) ||
  (FEW_WORDS.test(sentence) && !ENDED.test(sentence) && !CJK.test(sentence));

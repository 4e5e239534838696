/** What of a message is searched, what the index keeps of it, what a hit shows of it. Pure. */
import type { Message } from "@sessionplane/shared/message";
import { normalText, wordsOf } from "./words.ts";

/** UTF-16 units of a hit's content. */
export const MAX_CONTENT_UNITS = 4_000;

/** The text parts of a message, a line each. What a model thought and what tools said is not searched. */
export const textOf = ({ parts }: Pick<Message, "parts">): string =>
  parts.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : [])).join("\n");

/** The columns of the index: stems in order; and, once each, spellings that differ from their stem. */
export type IndexedText = { readonly stems: string; readonly spellings: string };

export function indexedText(text: string): IndexedText {
  const stems: string[] = [];
  const spellings = new Set<string>();
  for (const { stem, spelling } of wordsOf(normalText(text))) {
    stems.push(stem);
    if (stem !== spelling) spellings.add(spelling);
  }
  return { stems: stems.join(" "), spellings: [...spellings].join(" ") };
}

/** The beginning of a text, never half a character. */
export const beginningOf = (text: string, units: number): string =>
  text.length <= units ? text : text.slice(0, units).replace(/[\uD800-\uDBFF]$/, "");

/** Summaries of a given size that anyone could write: each is a selection of the transcript's own text. */
import type { Entry } from "@sessionplane/engine/compaction/transcript";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import { textRank } from "./text-rank.ts";

export type Baseline = (entries: readonly Entry[], maxTokens: number) => string;

const spoken = (entry: Entry): string => (entry.kind === "message" ? `${entry.role}: ${entry.text}` : entry.text);

/** The longest piece that fits, from the beginning or the end. */
function piece(text: string, maxTokens: number, from: "beginning" | "end"): string {
  let [fits, tooLong] = [0, text.length + 1];
  const of = (length: number): string => (from === "beginning" ? text.slice(0, length) : text.slice(text.length - length));
  while (tooLong - fits > 1) {
    const middle = Math.floor((fits + tooLong) / 2);
    if (estimateText(of(middle)) <= maxTokens) fits = middle;
    else tooLong = middle;
  }
  return of(fits);
}

const headAndTail: Baseline = (entries, maxTokens) => {
  const text = entries.map(spoken).join("\n\n");
  return `${piece(text, maxTokens / 2, "beginning")}\n[…]\n${piece(text, maxTokens / 2, "end")}`;
};

const sentencesOf = (text: string): string[] =>
  text
    .split(/(?<=[.!?。！？])\s+|\n+/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "");

/** Sentences in the order of `places` while there is room, skipping those that are too long for what is left; shown as they were said. */
function chosen(sentences: readonly string[], places: readonly number[], maxTokens: number): string {
  let left = maxTokens;
  const taken = places.filter((place) => {
    const tokens = estimateText(`${sentences[place] ?? ""}\n`);
    if (tokens > left) return false;
    left -= tokens;
    return true;
  });
  return taken
    .toSorted((a, b) => a - b)
    .map((place) => sentences[place] ?? "")
    .join("\n");
}

/** The first sentence of each message, then the second of each, and so on while there is room. */
const firstSentences: Baseline = (entries, maxTokens) => {
  const placed = entries.flatMap((entry) => sentencesOf(entry.text).map((sentence, depth) => ({ sentence, depth })));
  const places = placed.map((_, place) => place).toSorted((a, b) => (placed[a]?.depth ?? 0) - (placed[b]?.depth ?? 0) || a - b);
  return chosen(
    placed.map((one) => one.sentence),
    places,
    maxTokens,
  );
};

const ranked: Baseline = (entries, maxTokens) => {
  const sentences = entries.flatMap((entry) => sentencesOf(entry.text));
  return chosen(sentences, textRank(sentences), maxTokens);
};

export const BASELINES: Readonly<Record<string, Baseline>> = {
  "head and tail": headAndTail,
  "first sentences": firstSentences,
  TextRank: ranked,
};

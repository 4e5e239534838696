/** Sentences by importance: TextRank over shared words (Mihalcea and Tarau, 2004). Pure and deterministic. */
const DAMPING = 0.85;
const ITERATIONS = 20;
/** The graph grows with the square of this; longer input is ranked by its longest sentences. */
const MAX_SENTENCES = 600;

const STOP_WORDS = new Set(
  "a an and are as at be been but by can could did do does for from had has have he her his how i if in into is it its me my no not of on or our out please she should so than that the their them then there these they this to was we were what when where which who will with would you your".split(
    " ",
  ),
);

const wordsOf = (sentence: string): Set<string> =>
  new Set((sentence.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => !STOP_WORDS.has(word)));

/** The indices that take part: all, or the longest when there are too many. */
function participants(sentences: readonly string[]): number[] {
  const all = sentences.map((_, index) => index);
  if (all.length <= MAX_SENTENCES) return all;
  const byLength = all.toSorted((a, b) => (sentences[b]?.length ?? 0) - (sentences[a]?.length ?? 0) || a - b);
  return byLength.slice(0, MAX_SENTENCES).toSorted((a, b) => a - b);
}

/** Scores in the order of the sentences; a higher one is more central. */
export function rankSentences(sentences: readonly string[]): number[] {
  const nodes = participants(sentences);
  const words = nodes.map((index) => wordsOf(sentences[index] ?? ""));
  const weights = nodes.map(() => new Float64Array(nodes.length));
  const sums = new Float64Array(nodes.length);
  for (let i = 0; i < nodes.length; i++) {
    for (let j = i + 1; j < nodes.length; j++) {
      const weight = similarity(words[i] ?? new Set(), words[j] ?? new Set());
      if (weight === 0) continue;
      weights[i]![j] = weight;
      weights[j]![i] = weight;
      sums[i]! += weight;
      sums[j]! += weight;
    }
  }
  let scores = new Float64Array(nodes.length).fill(1);
  for (let round = 0; round < ITERATIONS; round++) {
    scores = scores.map((_, i) => {
      let received = 0;
      for (let j = 0; j < nodes.length; j++) {
        const weight = weights[j]?.[i] ?? 0;
        if (weight > 0) received += (weight / (sums[j] ?? 1)) * (scores[j] ?? 0);
      }
      return 1 - DAMPING + DAMPING * received;
    });
  }
  const result = sentences.map(() => 0);
  nodes.forEach((index, node) => (result[index] = scores[node] ?? 0));
  return result;
}

function similarity(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size < 2 || b.size < 2) return 0;
  let shared = 0;
  for (const word of a) if (b.has(word)) shared += 1;
  return shared === 0 ? 0 : shared / (Math.log(a.size) + Math.log(b.size));
}

/** TextRank (Mihalcea and Tarau, 2004) as it is published: PageRank over the words that sentences share. It knows no facts. */
const DAMPING = 0.85;
const MAX_ROUNDS = 50;
const CONVERGED = 1e-4;
/** The graph grows with the square of this; of longer texts the longest sentences take part. */
const MAX_SENTENCES = 2_500;

const wordsOf = (sentence: string): ReadonlySet<string> => new Set(sentence.toLowerCase().match(/[\p{L}\p{N}]+/gu));

function similarity(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size < 2 || b.size < 2) return 0;
  let shared = 0;
  for (const word of a) if (b.has(word)) shared += 1;
  return shared / (Math.log(a.size) + Math.log(b.size));
}

function pageRank(weights: readonly Float64Array[]): Float64Array {
  const sums = weights.map((row) => row.reduce((sum, weight) => sum + weight, 0));
  let scores = new Float64Array(weights.length).fill(1);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const next = scores.map((_, to) => {
      let received = 0;
      // The weights are symmetric: a row is a column.
      weights[to]?.forEach((weight, from) => {
        if (weight > 0) received += (weight / (sums[from] ?? 1)) * (scores[from] ?? 0);
      });
      return 1 - DAMPING + DAMPING * received;
    });
    const change = next.reduce((most, score, at) => Math.max(most, Math.abs(score - (scores[at] ?? 0))), 0);
    scores = next;
    if (change < CONVERGED) break;
  }
  return scores;
}

/** The places of the sentences, the most central first. */
export function textRank(sentences: readonly string[]): number[] {
  const places = sentences
    .map((_, place) => place)
    .toSorted((a, b) => (sentences[b]?.length ?? 0) - (sentences[a]?.length ?? 0))
    .slice(0, MAX_SENTENCES);
  const words = places.map((place) => wordsOf(sentences[place] ?? ""));
  const weights = words.map(() => new Float64Array(words.length));
  words.forEach((a, i) => {
    words.slice(0, i).forEach((b, j) => {
      const weight = similarity(a, b);
      weights[i]?.fill(weight, j, j + 1);
      weights[j]?.fill(weight, i, i + 1);
    });
  });
  const scores = pageRank(weights);
  return places
    .map((place, node) => ({ place, score: scores[node] ?? 0 }))
    .toSorted((a, b) => b.score - a.score || a.place - b.place)
    .map(({ place }) => place);
}

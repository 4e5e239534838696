/** The literal facts that the built-in model lists: those most likely to be asked for again, while they fit. Pure. */
import { factsOf, withoutSource } from "@sessionplane/engine/compaction/facts";
import { takeFitting } from "@sessionplane/engine/compaction/fit";
import { FACT_SEPARATOR, isKept } from "@sessionplane/engine/compaction/retention";
import type { Entry } from "@sessionplane/engine/compaction/transcript";

/** What was said or decided on comes before what a tool only listed. */
const SPOKEN = 2;
const GIVEN_TO_TOOL = 1;
const SHOWN_BY_TOOL = 0;

const JSON_KEY = /"[^"\\]*"\s*:/g;
const JSON_MARKS = /[{}[\]"]|\\[nt"]/g;

/** A tool's JSON without its keys and quotes: those are not facts. */
const valuesIn = (json: string): string => json.replace(JSON_KEY, " ").replace(JSON_MARKS, " ");

type Weighed = { readonly text: string; readonly weight: number };

function linesOf(entry: Entry): Weighed[] {
  if (entry.kind === "summary") return entry.text.split("\n").map((line) => ({ text: withoutSource(line), weight: SPOKEN }));
  return entry.text.split("\n").map((line) => {
    if (line.startsWith("Input: ")) return { text: valuesIn(line), weight: GIVEN_TO_TOOL };
    if (line.startsWith("Output: ")) return { text: valuesIn(line), weight: SHOWN_BY_TOOL };
    return {
      text: line.startsWith("[Tool: ") ? "" : line,
      weight: entry.role === "tool" ? SHOWN_BY_TOOL : SPOKEN,
    };
  });
}

/** Those that `written` has not, in the order of first mention. Of equal weight, the newest are chosen first. */
export function chooseFacts(entries: readonly Entry[], written: string, maxTokens: number): string[] {
  const weights = new Map<string, { weight: number; last: number }>();
  for (const [at, { text, weight }] of entries.flatMap(linesOf).entries()) {
    for (const fact of factsOf(text)) weights.set(fact, { weight: Math.max(weight, weights.get(fact)?.weight ?? 0), last: at });
  }
  const missing = [...weights.keys()].filter((fact) => !isKept(fact, written));
  const rank = (fact: string) => weights.get(fact) ?? { weight: 0, last: 0 };
  const ranked = missing.toSorted((a, b) => rank(b).weight - rank(a).weight || rank(b).last - rank(a).last);
  const chosen = new Set(takeFitting(ranked, FACT_SEPARATOR, maxTokens));
  return missing.filter((fact) => chosen.has(fact));
}

/**
 * The summary that the built-in model writes: the sections filled from the messages' own sentences, and as
 * many of their literal facts as fit. Pure and deterministic.
 */
import { factsOf } from "@sessionplane/engine/compaction/facts";
import type { Entry } from "@sessionplane/engine/compaction/transcript";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import { rankSentences, sentencesOf } from "./rank.ts";

/** Shares of the target for the sections that choose; facts take what is left. */
const KEY_POINTS_SHARE = 0.35;
const STATE_SHARE = 0.12;
const OPEN_SHARE = 0.1;
const TOPIC_TOKENS = 60;
const NONE = "None.";

type Sentence = {
  readonly text: string;
  readonly role: string;
  readonly id: string;
  readonly order: number;
  readonly score: number;
};
type Earlier = { readonly [section: string]: string };

const SECTION = /^## +(.+?)\s*$/gm;

/** The sections of an earlier summary, to be carried on. */
export function sectionsOf(summary: string): Earlier {
  const heads = [...summary.matchAll(SECTION)];
  return Object.fromEntries(
    heads.map((head, index) => [
      head[1] ?? "",
      summary.slice(head.index + head[0].length, heads[index + 1]?.index ?? summary.length).trim(),
    ]),
  );
}

const TOOL_LINE = /^(?:\[Tool: .*\]|Input: .*|Output: .*)$/gm;

function sentences(entries: readonly Entry[]): Sentence[] {
  const plain = entries.flatMap((entry) =>
    entry.kind === "message"
      ? sentencesOf(entry.text.replace(TOOL_LINE, "")).map((text) => ({ text, role: entry.role, id: entry.id }))
      : [],
  );
  const scores = rankSentences(plain.map((sentence) => sentence.text));
  return plain.map((sentence, order) => ({ ...sentence, order, score: scores[order] ?? 0 }));
}

/** Takes from the candidates while they fit. */
function fit(candidates: readonly string[], tokens: number): string[] {
  const taken: string[] = [];
  let used = 0;
  for (const candidate of candidates) {
    used += estimateText(candidate) + 2;
    if (used > tokens) break;
    taken.push(candidate);
  }
  return taken;
}

const bullets = (lines: readonly string[]): string => (lines.length === 0 ? NONE : lines.map((line) => `- ${line}`).join("\n"));

const clean = (text: string): string => text.replace(/^#+\s*/, "").replace(/\s+/g, " ");

/** The best-ranked sentences, in the order in which they were said. */
function keyPoints(all: readonly Sentence[], earlier: string | undefined, tokens: number): string {
  const carried = (earlier ?? "").split("\n").flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : []));
  const carriedFit = fit(carried, tokens / 2);
  const left = tokens - estimateText(carriedFit.join("\n"));
  const ranked = all.toSorted((a, b) => b.score - a.score || a.order - b.order);
  const unique = ranked.filter((one, index) => ranked.findIndex((other) => other.text === one.text) === index);
  const lines = new Map(unique.map((one) => [`${one.role}: ${clean(one.text)} [${one.id}]`, one.order]));
  const chosen = fit([...lines.keys()], left).toSorted((a, b) => (lines.get(a) ?? 0) - (lines.get(b) ?? 0));
  return bullets([...carriedFit, ...chosen]);
}

/** The last words of each side. */
function currentState(all: readonly Sentence[], tokens: number): string {
  const last = all.toReversed();
  const lines = ["assistant", "user"].flatMap((role) => {
    const newest = last.find((sentence) => sentence.role === role);
    return newest === undefined
      ? []
      : last
          .filter((sentence) => sentence.id === newest.id)
          .toReversed()
          .slice(0, 3);
  });
  const chosen = lines.toSorted((a, b) => a.order - b.order).map((one) => `${one.role}: ${clean(one.text)}`);
  return bullets(fit(chosen, tokens));
}

/** The newest questions of users. */
function openItems(all: readonly Sentence[], earlier: string | undefined, tokens: number): string {
  const asked = all
    .filter((sentence) => sentence.role === "user" && /[?？]\s*$/.test(sentence.text))
    .map((one) => clean(one.text));
  const carried = (earlier ?? NONE).split("\n").flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : []));
  return bullets(
    fit([...new Set(asked.toReversed())], tokens)
      .toReversed()
      .concat(fit(carried, tokens / 2))
      .slice(-12),
  );
}

/** Newest facts first into the room that is left, shown in the order in which they came. */
function facts(entries: readonly Entry[], written: string, tokens: number): string {
  const all = [...new Set(entries.flatMap((entry) => factsOf(entry.text)))].filter((fact) => !written.includes(fact));
  const kept = new Set<string>();
  let used = 0;
  // Shorter ones first among equals would favour noise; the newest are the likeliest to matter.
  for (const fact of all.toReversed()) {
    const cost = estimateText(fact) + 1;
    if (used + cost > tokens) continue;
    used += cost;
    kept.add(fact);
  }
  const shown = all.filter((fact) => kept.has(fact));
  return shown.length === 0 ? NONE : `- ${shown.join("; ")}`;
}

/** A summary of at most about `targetTokens`. */
export function extract(entries: readonly Entry[], targetTokens: number): string {
  const earlier = Object.assign(
    {},
    ...entries.flatMap((entry) => (entry.kind === "summary" ? [sectionsOf(entry.text)] : [])),
  ) as Earlier;
  const all = sentences(entries);
  const firstAsked = all.find((sentence) => sentence.role === "user") ?? all[0];
  const topic = earlier["Topic"] ?? (firstAsked === undefined ? NONE : (fit([clean(firstAsked.text)], TOPIC_TOKENS)[0] ?? NONE));
  const written = [
    `## Topic\n${topic}`,
    `## Key Points\n${keyPoints(all, earlier["Key Points"], targetTokens * KEY_POINTS_SHARE)}`,
    `## Current State\n${currentState(all, targetTokens * STATE_SHARE)}`,
    `## Open Items\n${openItems(all, earlier["Open Items"], targetTokens * OPEN_SHARE)}`,
  ].join("\n\n");
  const left = targetTokens - estimateText(written) - 4;
  return `${written}\n\n## Facts\n${facts(entries, written, left)}`;
}

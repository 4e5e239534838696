/**
 * The summary that the built-in model writes: the sections filled from the messages' own sentences, and as
 * many of their literal facts as fit. Pure and deterministic.
 */
import { takeFitting } from "@sessionplane/engine/compaction/fit";
import { FACT_SEPARATOR } from "@sessionplane/engine/compaction/retention";
import { type Entry, cut } from "@sessionplane/engine/compaction/transcript";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import { chooseFacts } from "./choose-facts.ts";
import { rankSentences, sentencesOf } from "./rank.ts";

/** Shares of the target for the sections that choose; facts take what is left. */
const KEY_POINTS_SHARE = 0.3;
const STATE_SHARE = 0.12;
const OPEN_SHARE = 0.1;
const TOPIC_SHARE = 0.1;
/** Of a section, for what an earlier summary had in it. */
const CARRIED_SHARE = 0.5;
const MAX_STATE_SENTENCES = 3;
/** A topic that is one long sentence is cut: at least so many code points of it are shown. */
const MIN_TOPIC_CHARACTERS = 60;
/** Parts are counted apart, and bullets beside them. */
const ROUNDING_TOKENS = 4;
const NONE = "None.";
const TOOLS_CALLED = "Tools called: ";
const BULLET = "\n- ";

type Sentence = {
  readonly text: string;
  readonly role: string;
  readonly id: string;
  readonly order: number;
  readonly score: number;
};

/** The sections of earlier summaries, the newest last: one that is missing from it is taken from before. */
type Earlier = ReadonlyMap<string, string>;

const SECTION = /^## +(.+?)[ \t]*$/gm;

function sectionsOf(summary: string): [string, string][] {
  const heads = [...summary.matchAll(SECTION)];
  return heads.map((head, index) => {
    const text = summary.slice(head.index + head[0].length, heads[index + 1]?.index).trim();
    return [head[1] ?? "", text];
  });
}

const bulletsIn = (section: string | undefined): string[] =>
  (section ?? "").split("\n").flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : []));

const bulleted = (lines: readonly string[]): string => (lines.length === 0 ? NONE : lines.map((line) => `- ${line}`).join("\n"));

/** A sentence as a bullet's text: no heading, on one line. */
const clean = (text: string): string => text.replace(/^[#\s>*-]+/, "").replace(/\s+/g, " ");

const TOOL_NAME = /^\[Tool: (.+)\]$/gm;
const TOOL_LINE = /^(?:\[Tool: .*\]|Input: .*|Output: .*|Error: .*)$/gm;

function sentences(entries: readonly Entry[]): Sentence[] {
  const plain = entries.flatMap((entry) =>
    entry.kind === "message" && entry.role !== "tool"
      ? sentencesOf(entry.text.replace(TOOL_LINE, "")).map((text) => ({ text, role: entry.role, id: entry.id }))
      : [],
  );
  const scores = rankSentences(plain.map((sentence) => sentence.text));
  return plain.map((sentence, order) => ({ ...sentence, order, score: scores[order] ?? 0 }));
}

/** Which tools were called, how often. */
function toolsLine(entries: readonly Entry[]): string[] {
  const counts = new Map<string, number>();
  for (const entry of entries) {
    if (entry.kind === "summary") continue;
    for (const [, name = ""] of entry.text.matchAll(TOOL_NAME)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const tools = [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`));
  return tools.length === 0 ? [] : [`${TOOLS_CALLED}${tools.join(", ")}`];
}

/** The best-ranked sentences, in the order in which they were said, after what an earlier summary had. */
function keyPoints(all: readonly Sentence[], tools: readonly string[], earlier: readonly string[], tokens: number): string {
  const carried = takeFitting(earlier.toReversed(), BULLET, tokens * CARRIED_SHARE).toReversed();
  const left = tokens - estimateText(carried.join(BULLET));
  const orders = new Map<string, number>();
  for (const one of all.toSorted((a, b) => b.score - a.score || a.order - b.order)) {
    const line = `${one.role}: ${clean(one.text)} [${one.id}]`;
    if (!orders.has(line)) orders.set(line, one.order);
  }
  const chosen = takeFitting([...tools, ...orders.keys()], BULLET, left);
  return bulleted([...carried, ...chosen.toSorted((a, b) => (orders.get(a) ?? -1) - (orders.get(b) ?? -1))]);
}

/** The last words of each side. */
function currentState(all: readonly Sentence[], tokens: number): string {
  const lastOf = (role: string): Sentence[] => {
    const newest = all.findLast((sentence) => sentence.role === role);
    return all.filter((sentence) => sentence.role === role && sentence.id === newest?.id).slice(0, MAX_STATE_SENTENCES);
  };
  const newestFirst = [...lastOf("assistant"), ...lastOf("user")].toSorted((a, b) => b.order - a.order);
  const lines = newestFirst.map((one) => `${one.role}: ${clean(one.text)}`);
  return bulleted(takeFitting(lines, BULLET, tokens).toReversed());
}

const QUESTION = /[?？]["”']?\s*$/;

/** The newest questions of users, then those that were open before. */
function openItems(all: readonly Sentence[], earlier: readonly string[], tokens: number): string {
  const asked = all.filter((one) => one.role === "user" && QUESTION.test(one.text)).map((one) => clean(one.text));
  const newestFirst = [...new Set([...asked.toReversed(), ...earlier.toReversed()])];
  return bulleted(takeFitting(newestFirst, BULLET, tokens).toReversed());
}

/** What was asked first: people say what they are about. */
function topic(all: readonly Sentence[], earlier: string | undefined, tokens: number): string {
  if (earlier !== undefined && earlier !== NONE) return earlier;
  const [first] = all.filter((sentence) => sentence.role === "user");
  const asked = all.filter((sentence) => sentence.id === (first ?? all[0])?.id).map((one) => clean(one.text));
  return takeFitting(asked, " ", tokens).join(" ") || cut(asked[0] ?? NONE, Math.max(MIN_TOPIC_CHARACTERS, tokens));
}

/** A summary of about `targetTokens`. What the facts leave of it goes to more key points. */
export function extract(entries: readonly Entry[], targetTokens: number): string {
  const earlier: Earlier = new Map(entries.flatMap((entry) => (entry.kind === "summary" ? sectionsOf(entry.text) : [])));
  const all = sentences(entries);
  const tools = toolsLine(entries);
  const carried = bulletsIn(earlier.get("Key Points")).filter((line) => !line.startsWith(TOOLS_CALLED));
  const open = bulletsIn(earlier.get("Open Items"));
  const write = (points: string): string =>
    [
      `## Topic\n${topic(all, earlier.get("Topic"), targetTokens * TOPIC_SHARE)}`,
      `## Key Points\n${points}`,
      `## Current State\n${currentState(all, targetTokens * STATE_SHARE)}`,
      `## Open Items\n${openItems(all, open, targetTokens * OPEN_SHARE)}`,
      "## Facts\n",
    ].join("\n\n");
  const points = keyPoints(all, tools, carried, targetTokens * KEY_POINTS_SHARE);
  const written = write(points);
  const facts = chooseFacts(entries, written, targetTokens - estimateText(written) - ROUNDING_TOKENS).join(FACT_SEPARATOR);
  const listed = bulleted(facts === "" ? [] : [facts]);
  const left = targetTokens - estimateText(written) - estimateText(listed) - ROUNDING_TOKENS;
  const more = left > 0 ? keyPoints(all, tools, carried, estimateText(points) + left) : points;
  return `${write(more)}${listed}`;
}

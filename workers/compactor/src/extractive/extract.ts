/**
 * The summary that the built-in model writes: the sections filled from the messages' own sentences, and as
 * many of their literal facts as fit. Pure and deterministic.
 */
import { factsOf, withoutSource } from "@sessionplane/engine/compaction/facts";
import { takeFitting } from "@sessionplane/engine/compaction/fit";
import { FACT_SEPARATOR } from "@sessionplane/engine/compaction/retention";
import type { Entry } from "@sessionplane/engine/compaction/transcript";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import { chooseFacts } from "./choose-facts.ts";
import { rankSentences } from "./rank.ts";
import { isFragment, sentencesOf, shortened } from "./sentences.ts";

/** Shares of the target for the sections that choose; facts take what is left. */
const KEY_POINTS_SHARE = 0.3;
const STATE_SHARE = 0.12;
const OPEN_SHARE = 0.1;
const TOPIC_SHARE = 0.1;
/** Of a section, for what an earlier summary had in it. */
const CARRIED_SHARE = 0.5;
const MAX_STATE_SENTENCES = 3;
/** A sentence with a literal fact says more than one without: so many times its rank. */
const WEIGHT_OF_FACTS = 1.5;
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

/** A sentence as a bullet's text: no heading, no bold, on one line. */
const clean = (text: string): string =>
  text
    .replace(/\*\*(\S(?:.*?\S)?)\*\*/g, "$1")
    .replace(/^[#\s>*-]+/, "")
    .replace(/\s+/g, " ");

const TOOL_NAME = /^\[Tool: (.+)\]$/gm;
const TOOL_LINE = /^(?:\[Tool: .*\]|Input: .*|Output: .*|Error: .*)$/gm;
/** Its literals are among the facts; its lines are no sentences. */
const CODE_BLOCK = /^ *```[\s\S]*?(?:^ *```|$(?![\s\S]))/gm;

function sentences(entries: readonly Entry[]): Sentence[] {
  const plain = entries.flatMap((entry) =>
    entry.kind === "message" && entry.role !== "tool"
      ? sentencesOf(entry.text.replace(TOOL_LINE, "").replace(CODE_BLOCK, "")).map((text) => ({
          text: clean(text),
          role: entry.role,
          id: entry.id,
        }))
      : [],
  );
  const scores = rankSentences(plain.map((sentence) => sentence.text));
  const weight = (text: string): number => (factsOf(text).length > 0 ? WEIGHT_OF_FACTS : 1);
  return plain.map((sentence, order) => ({ ...sentence, order, score: (scores[order] ?? 0) * weight(sentence.text) }));
}

/** Those that fit, or what fits of the first: a section says something whenever something was said. */
function fitting(lines: readonly string[], separator: string, tokens: number): string[] {
  const [first] = lines;
  const whole = takeFitting(lines, separator, tokens);
  return whole.length > 0 || first === undefined ? whole : [shortened(first, tokens)];
}

const COUNTED = /^(.*?)(?: ×(\d+))?$/;

/** Which tools were called, how often, with those of an earlier summary. */
function toolsLine(entries: readonly Entry[], earlier: readonly string[]): string[] {
  const counts = new Map<string, number>();
  const add = (name: string, count: number): void => void counts.set(name, (counts.get(name) ?? 0) + count);
  for (const line of earlier) {
    for (const tool of line.slice(TOOLS_CALLED.length).split(", ")) {
      const [, name = "", count = "1"] = COUNTED.exec(tool) ?? [];
      add(name, Number(count));
    }
  }
  for (const entry of entries) {
    if (entry.kind === "message") for (const [, name = ""] of entry.text.matchAll(TOOL_NAME)) add(name, 1);
  }
  const tools = [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`));
  return tools.length === 0 ? [] : [`${TOOLS_CALLED}${tools.join(", ")}`];
}

/** The best-ranked sentences, in the order in which they were said, after what an earlier summary had. Each is said once. */
function keyPoints(all: readonly Sentence[], tools: readonly string[], earlier: readonly string[], tokens: number): string {
  const carried = takeFitting(earlier.toReversed(), BULLET, tokens * CARRIED_SHARE).toReversed();
  const left = tokens - estimateText(carried.join(BULLET));
  const said = new Set(carried.map(withoutSource));
  const orders = new Map<string, number>();
  const last = (one: Sentence): number => (isFragment(one.text) ? 1 : 0);
  for (const one of all.toSorted((a, b) => last(a) - last(b) || b.score - a.score || a.order - b.order)) {
    const line = `${one.role}: ${one.text}`;
    if (said.has(line)) continue;
    said.add(line);
    orders.set(`${line} [${one.id}]`, one.order);
  }
  const chosen = new Set(takeFitting([...tools, ...orders.keys()], BULLET, left));
  const inOrder = [...orders.keys()]
    .filter((line) => chosen.has(line))
    .toSorted((a, b) => (orders.get(a) ?? 0) - (orders.get(b) ?? 0));
  return bulleted([...tools.filter((line) => chosen.has(line)), ...carried, ...inOrder]);
}

/** The last words of each side. */
function currentState(all: readonly Sentence[], tokens: number): string {
  const lastOf = (role: string): Sentence[] => {
    const newest = all.findLast((sentence) => sentence.role === role);
    const said = all.filter((sentence) => sentence.role === role && sentence.id === newest?.id);
    const whole = said.filter((sentence) => !isFragment(sentence.text));
    return (whole.length > 0 ? whole : said).slice(0, MAX_STATE_SENTENCES);
  };
  const newestFirst = [...lastOf("assistant"), ...lastOf("user")].toSorted((a, b) => b.order - a.order);
  const lines = newestFirst.map((one) => `${one.role}: ${one.text}`);
  return bulleted(fitting(lines, BULLET, tokens).toReversed());
}

const QUESTION = /[?？]["”']?\s*$/;

/** The newest questions of users, then those that were open before. What the assistant replied to, asking nothing back, is answered. */
function openItems(all: readonly Sentence[], earlier: readonly string[], tokens: number): string {
  const questions = all.filter((one) => QUESTION.test(one.text));
  const askingBack = new Set(questions.filter((one) => one.role === "assistant").map((one) => one.id));
  const answer = all.findLast((one) => one.role === "assistant" && !askingBack.has(one.id));
  const asked = questions.filter((one) => one.role === "user" && one.order > (answer?.order ?? -1)).map((one) => one.text);
  const newestFirst = [...new Set([...asked.toReversed(), ...(answer === undefined ? earlier.toReversed() : [])])];
  return bulleted(fitting(newestFirst, BULLET, tokens).toReversed());
}

/** What was asked first: people say what they are about. */
function topic(all: readonly Sentence[], earlier: string | undefined, tokens: number): string {
  if (earlier !== undefined && earlier !== NONE) return earlier;
  const [first] = all.filter((sentence) => sentence.role === "user");
  const asked = all.filter((sentence) => sentence.id === (first ?? all[0])?.id).map((one) => one.text);
  return fitting(asked, " ", tokens).join(" ") || NONE;
}

/** A summary of about `targetTokens`. What the facts leave of it goes to more key points. */
export function extract(entries: readonly Entry[], targetTokens: number): string {
  const earlier: Earlier = new Map(entries.flatMap((entry) => (entry.kind === "summary" ? sectionsOf(entry.text) : [])));
  const all = sentences(entries);
  const points = bulletsIn(earlier.get("Key Points"));
  const isTools = (line: string): boolean => line.startsWith(TOOLS_CALLED);
  const tools = toolsLine(entries, points.filter(isTools));
  const carried = points.filter((line) => !isTools(line));
  const open = bulletsIn(earlier.get("Open Items"));
  const write = (points: string): string =>
    [
      `## Topic\n${topic(all, earlier.get("Topic"), targetTokens * TOPIC_SHARE)}`,
      `## Key Points\n${points}`,
      `## Current State\n${currentState(all, targetTokens * STATE_SHARE)}`,
      `## Open Items\n${openItems(all, open, targetTokens * OPEN_SHARE)}`,
      "## Facts\n",
    ].join("\n\n");
  const chosen = keyPoints(all, tools, carried, targetTokens * KEY_POINTS_SHARE);
  const written = write(chosen);
  const facts = chooseFacts(entries, written, targetTokens - estimateText(written) - ROUNDING_TOKENS).join(FACT_SEPARATOR);
  const listed = bulleted(facts === "" ? [] : [facts]);
  const left = targetTokens - estimateText(written) - estimateText(listed) - ROUNDING_TOKENS;
  const more = left > 0 ? keyPoints(all, tools, carried, estimateText(chosen) + left) : chosen;
  return `${write(more)}${listed}`;
}

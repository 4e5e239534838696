/**
 * What is kept of real conversations: the literal facts that the built-in model's summary still has, beside
 * summaries of the same size that know nothing of facts. Shares, not times: the milliseconds are an aside.
 */
import { factText, factsOf } from "@sessionplane/engine/compaction/facts";
import { measureRetention } from "@sessionplane/engine/compaction/retention";
import { entryOf } from "@sessionplane/engine/compaction/transcript";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import { type CompactionPolicy, DEFAULT_COMPACTION_POLICY } from "@sessionplane/shared/compaction-policy";
import type { Message } from "@sessionplane/shared/message";
import { table } from "../scripts/demo/terminal.ts";
import { grouped } from "./engine/sizes.ts";
import type { Comparison } from "./measure.ts";
import { BASELINES } from "./retention/baselines.ts";
import { rangeOf, summaryOf } from "./retention/compacted.ts";
import { conversations, joined, longestPath } from "./retention/conversations.ts";

/** Small enough for conversations of this length to be compacted; the rest is the plane's. */
const SHORT_POLICY: CompactionPolicy = { ...DEFAULT_COMPACTION_POLICY, threshold: 800, keep_recent_tokens: 200, protect_head: 1 };
const JOINED_TOKENS = 200_000;
const AIM = 1.5;
const OURS = "built-in";

type Kept = { readonly kept: number; readonly ms: number };
type Measured = {
  readonly facts: number;
  readonly tokens: number;
  readonly summaryTokens: number;
  readonly by: ReadonlyMap<string, Kept>;
};

/** Null: too short to be compacted. */
async function measured(messages: readonly Message[], policy: CompactionPolicy): Promise<Measured | null> {
  const range = rangeOf(messages, policy);
  if (range === null) return null;
  const facts = [...new Set(range.messages.flatMap((message) => factsOf(factText(message))))];
  const entries = range.messages.map(entryOf);
  const by = new Map<string, Kept>();
  const note = (name: string, summary: string, started: number): void =>
    void by.set(name, { ms: performance.now() - started, kept: measureRetention(facts, summary).kept });
  const started = performance.now();
  const { summary } = await summaryOf(range, policy);
  note(OURS, summary, started);
  const summaryTokens = estimateText(summary);
  for (const [name, baseline] of Object.entries(BASELINES)) {
    const begun = performance.now();
    note(name, baseline(entries, summaryTokens), begun);
  }
  return { facts: facts.length, tokens: range.plan.tokens, summaryTokens, by };
}

type Row = { readonly what: string; readonly floor: number; readonly ranges: readonly Measured[] };

async function rowOf(what: string, paths: readonly (readonly Message[])[], policy: CompactionPolicy): Promise<Row> {
  const ranges: Measured[] = [];
  for (const path of paths) {
    const one = await measured(path, policy);
    if (one !== null) ranges.push(one);
  }
  return { what, floor: policy.retention_floor, ranges };
}

const total = (ranges: readonly Measured[], of: (one: Measured) => number): number =>
  ranges.reduce((sum, one) => sum + of(one), 0);
const keptBy = (ranges: readonly Measured[], name: string): number => total(ranges, (one) => one.by.get(name)?.kept ?? 0);
const msOf = (ranges: readonly Measured[], name: string): number => total(ranges, (one) => one.by.get(name)?.ms ?? 0);
const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
const shareKept = (one: Measured): number => (one.facts === 0 ? 1 : (one.by.get(OURS)?.kept ?? 0) / one.facts);

const bestOf = (ranges: readonly Measured[]): string =>
  Object.keys(BASELINES).reduce((best, name) => (keptBy(ranges, name) > keptBy(ranges, best) ? name : best));

function compared({ what, ranges }: Row): Comparison {
  const best = bestOf(ranges);
  return {
    name: `facts_vs_best_baseline/${what}`,
    ratio: keptBy(ranges, OURS) / Math.max(1, keptBy(ranges, best)),
    aim: `≥ ${AIM}`,
    ours_ms: msOf(ranges, OURS),
    baseline_ms: msOf(ranges, best),
    size: `facts kept, against ${best} at the same size`,
    repetitions: 1,
  };
}

function cells({ what, floor, ranges }: Row): string[] {
  const facts = total(ranges, (one) => one.facts);
  const tokens = total(ranges, (one) => one.tokens);
  return [
    what,
    String(ranges.length),
    grouped(tokens),
    percent(total(ranges, (one) => one.summaryTokens) / tokens),
    grouped(facts),
    ...[OURS, ...Object.keys(BASELINES)].map((name) => percent(keptBy(ranges, name) / Math.max(1, facts))),
    percent(Math.min(...ranges.map(shareKept))),
    String(ranges.filter((one) => shareKept(one) < floor).length),
    (msOf(ranges, OURS) / ranges.length).toFixed(0),
  ];
}

const HEADS = [
  "range",
  "how many",
  "tokens",
  "summary",
  "facts",
  OURS,
  ...Object.keys(BASELINES),
  "least",
  "below floor",
  "ms each",
];

export async function retention(print: (text: string) => void): Promise<Comparison[]> {
  const files = conversations();
  if (files.size === 0) return [];
  const rows: Row[] = [];
  for (const [kind, all] of files) rows.push(await rowOf(kind, all.map(longestPath), SHORT_POLICY));
  rows.push(await rowOf("joined", [joined(files, JOINED_TOKENS)], DEFAULT_COMPACTION_POLICY));
  const filled = rows.filter((row) => row.ranges.length > 0);
  print(`${table(HEADS, filled.map(cells))}\n`);
  const each = filled.map(compared);
  const worst = each.reduce((least, one) => (one.ratio < least.ratio ? one : least));
  return [{ ...worst, name: "facts_vs_best_baseline", size: `the least of the rows below: ${worst.size}` }, ...each];
}

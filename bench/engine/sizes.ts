/** The sessions that are measured, and how a result about one of them is called. */
import type { Kind } from "../baselines/engine/work.ts";

export const REPETITIONS = 7;
export const SMALL = 1_000;
const MEDIUM = 4_000;
/** The size that the aims are about. */
export const LARGE = 16_000;
const HUGE = 100_000;
/** In the largest session a round of the published engine alone would take half a minute. */
const MAX_PUBLISHED = 20_000;

const LABELS: Readonly<Record<Kind, string>> = { short: "short text", long: "long text", tools: "tool calls" };

export const SIZES: readonly (readonly [kind: Kind, count: number])[] = [
  ["short", LARGE],
  ["short", SMALL],
  ["short", MEDIUM],
  ["long", SMALL],
  ["long", MEDIUM],
  ["tools", SMALL],
  ["tools", MEDIUM],
  ["short", HUGE],
];

export const baselinesFor = (count: number): readonly ("bare" | "published")[] =>
  count <= MAX_PUBLISHED ? ["bare", "published"] : ["bare"];

/** The plain name for short text at the size of the aims, so that programs find it; the others say theirs. */
export const named = (name: string, kind: Kind, count: number): string =>
  kind === "short" && count === LARGE ? name : `${name}/${kind}/${count}`;

export const grouped = (count: number): string => Math.round(count).toLocaleString("en");
export const sized = (kind: Kind, count: number): string => `${grouped(count)} of ${LABELS[kind]}`;

/**
 * Whether to compact and what: one module over the token counts that were stored at write, so that what
 * fires and what is cut can't disagree. Pure. Called by the session's object.
 */
import type { CompactionPolicy } from "@sessionplane/shared/compaction-policy";

/** The history from root to leaf, overlays applied, without content. */
export type PlanItem =
  | {
      readonly kind: "message";
      readonly id: string;
      readonly seq: number;
      readonly tokens: number;
      readonly callIds: readonly string[];
    }
  | {
      readonly kind: "overlay";
      readonly overlayId: string;
      readonly fromId: string;
      readonly toId: string;
      readonly fromSeq: number;
      readonly toSeq: number;
      readonly messages: number;
      readonly tokens: number;
    };

export type SkipReason = "below_threshold" | "too_short" | "nothing_to_replace" | "cooldown" | "min_gain";

export type CompactionPlan =
  | { readonly kind: "skip"; readonly reason: SkipReason }
  | {
      readonly kind: "compact";
      readonly fromId: string;
      readonly toId: string;
      readonly fromSeq: number;
      readonly toSeq: number;
      /** Originals that the new overlay stands for. */
      readonly messages: number;
      /** Of the items replaced, as the history shows them now. */
      readonly tokens: number;
      /** Overlays inside the range, oldest first: all of them are fed to the summariser. */
      readonly feeds: readonly string[];
    };

export type PlanOptions = {
  /** By hand: whatever the threshold and the cooldown. */
  readonly force?: boolean;
  /** Messages since the last compaction of this path; undefined when there was none. */
  readonly messagesSinceLast?: number;
  /** Tokens that are sent beside the history: of the system prompt. */
  readonly beside?: number;
};

/** Strictly above: a history and a prompt of exactly the threshold stay. */
export const shouldCompact = (tokens: number, policy: CompactionPolicy): boolean => tokens > policy.threshold;

/** Half-open, in items. */
type Stretch = { readonly start: number; readonly end: number };

const skip = (reason: SkipReason): CompactionPlan => ({ kind: "skip", reason });

const sumTokens = (items: readonly PlanItem[]): number => items.reduce((sum, item) => sum + item.tokens, 0);

/** Where the head ends. An earlier summary is never part of it: what follows the head begins there. */
function headEnd(items: readonly PlanItem[], policy: CompactionPolicy): number {
  const overlay = items.findIndex((item) => item.kind === "overlay");
  return Math.min(policy.protect_head, overlay === -1 ? items.length : overlay);
}

/** The first item of the tail that stays: as many as fit `keep_recent_tokens`, at least `min_tail`. */
function tailStart(items: readonly PlanItem[], policy: CompactionPolicy): number {
  let kept = 0;
  for (let start = items.length; start > 0; start--) {
    kept += items[start - 1]?.tokens ?? 0;
    const required = items.length - start < policy.min_tail;
    if (!required && kept > policy.keep_recent_tokens) return start;
  }
  return 0;
}

/**
 * For each boundary (before item i) whether it lies between a tool call and one of its results. Messages
 * that share a call id belong together, whatever their roles and whatever stands between them.
 */
function forbiddenBoundaries(items: readonly PlanItem[]): boolean[] {
  const first = new Map<string, number>();
  const last = new Map<string, number>();
  items.forEach((item, index) => {
    if (item.kind === "overlay") return;
    for (const id of item.callIds) {
      if (!first.has(id)) first.set(id, index);
      last.set(id, index);
    }
  });
  const forbidden = Array<boolean>(items.length + 1).fill(false);
  for (const [id, from] of first) forbidden.fill(true, from + 1, (last.get(id) ?? from) + 1);
  return forbidden;
}

/** What pinned messages leave of a stretch. */
function betweenPins(items: readonly PlanItem[], { start, end }: Stretch, pinned: ReadonlySet<string>): Stretch[] {
  const pins: number[] = [];
  for (let index = start; index < end; index++) {
    const item = items[index];
    if (item?.kind === "message" && pinned.has(item.id)) pins.push(index);
  }
  return [...pins, end].map((pin, index) => ({ start: index === 0 ? start : (pins[index - 1] ?? start) + 1, end: pin }));
}

/** Shrinks a stretch until neither end separates a call from its results. */
function alignToCalls(stretch: Stretch, forbidden: readonly boolean[]): Stretch {
  let { start, end } = stretch;
  while (start < end && forbidden[start]) start += 1;
  while (end > start && forbidden[end]) end -= 1;
  return { start, end };
}

/** What no summary stands for yet: all that a compaction can gain from. */
const freshTokens = (items: readonly PlanItem[]): number =>
  items.reduce((sum, item) => (item.kind === "message" ? sum + item.tokens : sum), 0);

/** A range that is mostly an earlier summary costs a model call and saves next to nothing. */
const gains = (items: readonly PlanItem[], policy: CompactionPolicy): boolean =>
  freshTokens(items) > sumTokens(items) * policy.min_gain;

function describe(items: readonly PlanItem[]): CompactionPlan {
  const [first] = items;
  const last = items.at(-1);
  if (first === undefined || last === undefined) return skip("nothing_to_replace");
  return {
    kind: "compact",
    fromId: first.kind === "message" ? first.id : first.fromId,
    fromSeq: first.kind === "message" ? first.seq : first.fromSeq,
    toId: last.kind === "message" ? last.id : last.toId,
    toSeq: last.kind === "message" ? last.seq : last.toSeq,
    messages: items.reduce((count, item) => count + (item.kind === "message" ? 1 : item.messages), 0),
    tokens: sumTokens(items),
    feeds: items.flatMap((item) => (item.kind === "overlay" ? [item.overlayId] : [])),
  };
}

/**
 * The range to replace by a summary, or why there is none. `items` is the whole history. Of the stretches that
 * pinned messages leave, it is the one with the most tokens that no summary stands for yet; the first of equals.
 */
export function planCompaction(items: readonly PlanItem[], policy: CompactionPolicy, options: PlanOptions = {}): CompactionPlan {
  if (!options.force) {
    if (!shouldCompact(sumTokens(items) + (options.beside ?? 0), policy)) return skip("below_threshold");
    if (options.messagesSinceLast !== undefined && options.messagesSinceLast < policy.cooldown_messages) return skip("cooldown");
  }
  const middle: Stretch = { start: headEnd(items, policy), end: tailStart(items, policy) };
  if (middle.end <= middle.start) return skip("too_short");
  const forbidden = forbiddenBoundaries(items);
  const fresh = betweenPins(items, middle, new Set(policy.pinned))
    .map((stretch) => alignToCalls(stretch, forbidden))
    .map(({ start, end }) => items.slice(start, end))
    .filter((range) => range.some((item) => item.kind === "message"));
  if (fresh.length === 0) return skip("nothing_to_replace");
  const [richest] = fresh.filter((range) => gains(range, policy)).toSorted((a, b) => freshTokens(b) - freshTokens(a));
  return richest === undefined ? skip("min_gain") : describe(richest);
}

/**
 * The compaction function that summarises with a model: head and tail stay, the middle becomes one text. What to
 * cut is decided by `planCompaction`, the module that the plane uses too. Source of the options and their
 * defaults: Cloudflare's Session API, both generations.
 */
import { DEFAULT_COMPACTION_POLICY } from "@sessionplane/shared/compaction-policy";
import { type PlanItem, planCompaction } from "../../compaction/plan.ts";
import { estimateMessage } from "../../tokens/estimate.ts";
import { callIdsOf } from "../../tree/tool-calls.ts";
import { type SessionMessage, asStored, isCompactionMessage } from "../session-message.ts";
import type { CompactFunction, MessageTokenCounter } from "./compactor.ts";
import { type Summarise, foldRange } from "./fold-range.ts";

export type CompactFunctionOptions = {
  /** Asked with a whole prompt; what it resolves to is the summary. A blank one compacts nothing. */
  readonly summarize: Summarise;
  /** Messages at the start that stay, 3 when it is left out. */
  readonly protectHead?: number | undefined;
  /** Tokens of the newest messages that stay, 20,000 when it is left out. `keepRecentTokens` says the same. */
  readonly tailTokenBudget?: number | undefined;
  readonly keepRecentTokens?: number | undefined;
  /** Newest messages that stay whatever they weigh, 2 when it is left out. */
  readonly minTailMessages?: number | undefined;
  /** Of one message, for the tail. Without it the counter of `compactAfter`, then the engine's estimate. */
  readonly tokenCounter?: MessageTokenCounter | undefined;
};

const MIN_SUMMARY_TOKENS = 100;

const idsUnder = (message: SessionMessage): { from: string; to: string } => {
  const { metadata } = message;
  const overlay: unknown = typeof metadata === "object" && metadata !== null ? Reflect.get(metadata, "overlay") : undefined;
  const end = (name: string): string => {
    const id: unknown = typeof overlay === "object" && overlay !== null ? Reflect.get(overlay, name) : undefined;
    return typeof id === "string" ? id : message.id;
  };
  return { from: end("from_id"), to: end("to_id") };
};

/** Every message with its tokens; its place is its seq. */
async function itemsOf(messages: readonly SessionMessage[], counter: MessageTokenCounter | undefined): Promise<PlanItem[]> {
  const items: PlanItem[] = [];
  for (const [index, message] of messages.entries()) {
    const stored = asStored(JSON.stringify(message));
    const counted = counter === undefined ? estimateMessage(stored) : await counter([message]);
    const tokens = Number.isFinite(counted) ? Math.max(0, Math.ceil(counted)) : 0;
    const seq = index + 1;
    if (isCompactionMessage(message)) {
      const { from, to } = idsUnder(message);
      items.push({
        kind: "overlay",
        overlayId: message.id,
        fromId: from,
        toId: to,
        fromSeq: seq,
        toSeq: seq,
        messages: 1,
        tokens,
      });
    } else {
      items.push({ kind: "message", id: message.id, seq, tokens, callIds: callIdsOf(stored) });
    }
  }
  return items;
}

/** For `onCompaction()`. Calls that belong to results are not cut from them; a long range takes several calls. */
export function createCompactFunction(options: CompactFunctionOptions): CompactFunction {
  const keepRecentTokens = options.keepRecentTokens ?? options.tailTokenBudget ?? DEFAULT_COMPACTION_POLICY.keep_recent_tokens;
  const policy = {
    ...DEFAULT_COMPACTION_POLICY,
    protect_head: options.protectHead ?? DEFAULT_COMPACTION_POLICY.protect_head,
    keep_recent_tokens: keepRecentTokens,
    // The newest message stays whatever was asked for: it is what the model answers to.
    min_tail: Math.max(1, options.minTailMessages ?? DEFAULT_COMPACTION_POLICY.min_tail),
    min_gain: 0,
  };
  return async (messages, context = {}) => {
    const items = await itemsOf(messages, options.tokenCounter ?? context.tokenCounter);
    const plan = planCompaction(items, policy, { force: true });
    if (plan.kind === "skip") return null;
    const range = messages.slice(plan.fromSeq - 1, plan.toSeq);
    const target = Math.min(
      policy.max_summary_tokens,
      Math.max(MIN_SUMMARY_TOKENS, Math.floor(plan.tokens * policy.target_ratio)),
    );
    const summary = await foldRange(range, target, options.summarize);
    return summary === null ? null : { fromMessageId: plan.fromId, toMessageId: plan.toId, summary };
  };
}

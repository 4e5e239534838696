/** How large a summary should be, and how large it may be. Pure. */
import type { CompactionPolicy } from "@sessionplane/shared/compaction-policy";

/** A summary with fewer tokens has no room for its sections. */
const MIN_TARGET_TOKENS = 200;

type Sizes = Pick<CompactionPolicy, "max_summary_tokens" | "min_gain" | "target_ratio">;

/** `tokens`: of what it stands for. */
export function summarySize(policy: Sizes, tokens: number): { readonly target: number; readonly most: number } {
  const most = Math.max(1, Math.min(policy.max_summary_tokens, Math.floor(tokens * (1 - policy.min_gain))));
  return { target: Math.min(most, Math.max(MIN_TARGET_TOKENS, Math.ceil(tokens * policy.target_ratio))), most };
}

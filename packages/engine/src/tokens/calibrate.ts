/**
 * What a real call's token count says of the estimate. Prompt, tools and a model's own tokenizer are not in
 * the estimate: a factor that scales threshold and tail alike makes up for them. Pure.
 */
import type { CompactionPolicy } from "@sessionplane/shared/compaction-policy";

/** Below it what is beside the history (prompt, tools) says nothing of the history. */
const MIN_ESTIMATE = 1_000;
/** A report that is further off is of another context than the session's. */
const MAX_FACTOR = 4;

/**
 * How many real tokens there are to an estimated one, 1 to 4; null when the report says nothing of it.
 * An estimate that is too high is left alone: compacting early loses nothing, late a whole call.
 */
export function calibrationFactor(reported: number, estimated: number): number | null {
  if (estimated < MIN_ESTIMATE || reported <= 0) return null;
  return Math.min(MAX_FACTOR, Math.max(1, reported / estimated));
}

/** The policy in estimated tokens. */
export function calibratePolicy(policy: CompactionPolicy, factor: number): CompactionPolicy {
  if (factor === 1) return policy;
  const threshold = Math.max(1, Math.floor(policy.threshold / factor));
  return { ...policy, threshold, keep_recent_tokens: Math.min(Math.floor(policy.keep_recent_tokens / factor), threshold - 1) };
}

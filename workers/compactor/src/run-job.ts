/**
 * One compaction job, from claim to commit, over the few things it needs: the order of the effects is this
 * file. What a call of the model cost is passed on with whatever ends the attempt.
 */
import { entryOf, type Entry } from "@sessionplane/engine/compaction/transcript";
import { factText, factsOf } from "@sessionplane/engine/compaction/facts";
import { summaryPrompt } from "@sessionplane/engine/compaction/prompt";
import { measureRetention, restoreFacts } from "@sessionplane/engine/compaction/retention";
import { rejectionOf } from "@sessionplane/engine/compaction/validate";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import type { CompactionJob } from "@sessionplane/shared/compaction-job";
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { ClaimedJob, JobCommit, JobFailure, JobItem, JobRefusal, SeqPage } from "@sessionplane/shared/rpc/session-rpc";
import type { NewUsageEvent, PricedUsage } from "@sessionplane/shared/usage-event";
import type { ModelAnswer, ModelFailure } from "./summarise.ts";

/** What one call reads at most: fits the small models too. A longer range is folded, chunk by chunk. */
const CHUNK_TOKENS = 24_000;
/** One entry is never more than this; the rest of it is an entry of its own. */
const MAX_ENTRY_CHARACTERS = 40_000;

export type CompactionDeps = {
  claim(): Promise<Result<ClaimedJob, JobRefusal>>;
  readRange(fence: number, afterSeq: number): Promise<Result<SeqPage<JobItem>, JobRefusal>>;
  commit(fence: number, commit: JobCommit): Promise<Result<CompactionJob, JobRefusal>>;
  fail(fence: number, failure: JobFailure): Promise<Result<CompactionJob, JobRefusal>>;
  /** Null: no such model is configured. */
  model(
    id: string | null,
  ): { readonly id: string; call(prompt: string, maxTokens: number): Promise<Result<ModelAnswer, ModelFailure>> } | null;
  price(events: readonly NewUsageEvent[]): Promise<Result<readonly PricedUsage[], Problem>>;
  nonce(): string;
};

export type JobOutcome =
  | { readonly kind: "ended"; readonly state: CompactionJob["state"] }
  /** The job waits for another attempt. */
  | { readonly kind: "again"; readonly code: string }
  | { readonly kind: "refused"; readonly code: JobRefusal["code"] };

type Attempt = {
  readonly job: ClaimedJob;
  readonly modelId: string;
  readonly calls: Record<string, unknown>[];
  readonly facts: Set<string>;
};
type Stop = Pick<JobFailure, "outcome" | "error">;

const refused = ({ code }: JobRefusal): JobOutcome => ({ kind: "refused", code });

/** How large the summary may be, and how large it should be. */
function sizeOf({ policy, tokens }: ClaimedJob): { readonly target: number; readonly most: number } {
  const most = Math.max(1, Math.min(policy.max_summary_tokens, Math.floor(tokens * (1 - policy.min_gain))));
  return { target: Math.min(most, Math.max(200, Math.ceil(tokens * policy.target_ratio))), most };
}

function* piecesOf(item: JobItem): Generator<Entry> {
  const entry: Entry = item.kind === "overlay" ? { kind: "summary", text: item.summary } : entryOf(item.message);
  if (entry.text.length <= MAX_ENTRY_CHARACTERS) {
    yield entry;
    return;
  }
  const points = [...entry.text];
  for (let at = 0; at < points.length; at += MAX_ENTRY_CHARACTERS) {
    yield { ...entry, text: points.slice(at, at + MAX_ENTRY_CHARACTERS).join("") };
  }
}

/** The range's entries, page by page. Gathers its facts on the way. */
async function* entriesOf(deps: CompactionDeps, { job, facts }: Attempt): AsyncGenerator<Entry, JobRefusal | null> {
  for (let after: number | null = 0; after !== null;) {
    const page: Result<SeqPage<JobItem>, JobRefusal> = await deps.readRange(job.fence, after);
    if (!page.ok) return page.error;
    for (const item of page.value.items) {
      const text = item.kind === "overlay" ? item.summary : factText(item.message);
      for (const fact of factsOf(text)) facts.add(fact);
      yield* piecesOf(item);
    }
    after = page.value.next_seq;
  }
  return null;
}

/** One call of the model over the entries; its usage is kept whatever comes of it. */
async function call(deps: CompactionDeps, attempt: Attempt, entries: readonly Entry[]): Promise<Result<ModelAnswer, Stop>> {
  const model = deps.model(attempt.job.policy.model);
  if (model === null)
    return err({ outcome: "fail", error: { code: "unknown_model", detail: `no provider has the model ${attempt.modelId}` } });
  const { target } = sizeOf(attempt.job);
  const rejectedBecause = attempt.job.rejected_because;
  const answer = await model.call(summaryPrompt({ entries, nonce: deps.nonce(), targetTokens: target, rejectedBecause }), target);
  if (answer.ok) {
    attempt.calls.push(answer.value.usage);
    return answer;
  }
  const { kind, code, detail } = answer.error;
  return err({ outcome: kind === "transient" ? "retry" : "fail", error: { code, detail } });
}

/** Folds the range into one summary: each chunk with the summary of what came before it. */
async function fold(deps: CompactionDeps, attempt: Attempt): Promise<Result<ModelAnswer, Stop | JobRefusal>> {
  let answer: ModelAnswer | null = null;
  let chunk: Entry[] = [];
  let tokens = 0;
  const flush = async (): Promise<Stop | null> => {
    const called = await call(deps, attempt, chunk);
    if (!called.ok) return called.error;
    answer = called.value;
    chunk = [{ kind: "summary", text: answer.text }];
    tokens = estimateText(answer.text);
    return null;
  };
  const entries = entriesOf(deps, attempt);
  for (let read = await entries.next(); ; read = await entries.next()) {
    if (read.done) {
      if (read.value !== null) return err(read.value);
      break;
    }
    const size = estimateText(read.value.text);
    if (chunk.length > 0 && tokens + size > CHUNK_TOKENS) {
      const stopped = await flush();
      if (stopped !== null) return err(stopped);
    }
    chunk.push(read.value);
    tokens += size;
  }
  const stopped = await flush();
  if (stopped !== null) return err(stopped);
  return answer === null
    ? err({ outcome: "fail", error: { code: "empty_range", detail: "the range has no messages" } })
    : ok(answer);
}

/** The attempt's calls as usage events, each with an id that a repeated delivery makes again. */
async function priced(deps: CompactionDeps, { job, modelId, calls }: Attempt): Promise<readonly PricedUsage[]> {
  if (calls.length === 0) return [];
  const events = calls.map((usage, index) => ({
    id: `${job.job_id}:${job.fence}:${index}`,
    model: modelId,
    purpose: "compaction" as const,
    usage,
  }));
  const result = await deps.price(events);
  if (!result.ok) throw new Error(`the usage could not be priced: ${result.error.code}`);
  return result.value;
}

async function end(deps: CompactionDeps, attempt: Attempt, stop: Stop): Promise<JobOutcome> {
  const usage = await priced(deps, attempt);
  const failed = await deps.fail(attempt.job.fence, { ...stop, model: attempt.modelId, usage });
  if (!failed.ok) return refused(failed.error);
  return failed.value.state === "queued"
    ? { kind: "again", code: stop.error.code }
    : { kind: "ended", state: failed.value.state };
}

/** Throws only when a part of the plane does not answer: the lease then runs out, or the queue retries. */
export async function runJob(deps: CompactionDeps): Promise<JobOutcome> {
  const claimed = await deps.claim();
  if (!claimed.ok) return refused(claimed.error);
  const job = claimed.value;
  const attempt: Attempt = {
    job,
    modelId: deps.model(job.policy.model)?.id ?? String(job.policy.model),
    calls: [],
    facts: new Set(),
  };

  const folded = await fold(deps, attempt);
  if (!folded.ok) return "outcome" in folded.error ? end(deps, attempt, folded.error) : refused(folded.error);
  const { text, finishReason } = folded.value;
  const rejection = rejectionOf({ text, finishReason, rangeTokens: job.tokens, minGain: job.policy.min_gain });
  if (rejection !== null)
    return end(deps, attempt, { outcome: "reject", error: { code: "summary_rejected", detail: rejection } });

  const facts = [...attempt.facts];
  const summary = restoreFacts(text.trim(), facts, job.policy.retention_floor, sizeOf(job).most);
  const usage = await priced(deps, attempt);
  const committed = await deps.commit(job.fence, {
    summary,
    model: attempt.modelId,
    retention: measureRetention(facts, summary),
    usage,
  });
  return committed.ok ? { kind: "ended", state: committed.value.state } : refused(committed.error);
}

/** What a compaction would do, without doing it: the plan, and what its range holds. */
import type { CompactionPlanReply } from "@sessionplane/shared/compaction-job";
import { messageSchema } from "@sessionplane/shared/message";
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, ok } from "@sessionplane/shared/result";
import type { TenantRules } from "@sessionplane/shared/rpc/session-rpc";
import { factText, factsOf, summaryFactText } from "@sessionplane/engine/compaction/facts";
import { summarySize } from "@sessionplane/engine/compaction/summary-size";
import { segments, standing } from "@sessionplane/engine/history/apply-overlays";
import { maskedRead } from "@sessionplane/engine/history/masked-read";
import { within } from "@sessionplane/engine/tree/runs";
import type { SessionStore } from "../session-store.ts";
import type { JobRange } from "./queue-job.ts";
import { asked, planByHand } from "./requests.ts";

/** A text of nothing but numbers has more than anyone can check. */
const MAX_FACTS = 20_000;

function* textsOf(store: SessionStore, leaf: number, range: JobRange): Generator<string> {
  const path = within(store.messages.pathTo(leaf), range.fromSeq, range.toSeq);
  const fed = store.overlays.all().filter(({ id }) => range.feeds.includes(id));
  for (const segment of segments(path, standing(fed, path))) {
    if (segment.kind === "overlay") {
      yield summaryFactText(segment.overlay.summary);
      continue;
    }
    for (const read of store.messages.scan(segment.path, "asc"))
      yield factText(messageSchema.parse(JSON.parse(maskedRead(read, store.skills.masks()).json)));
  }
}

function countFacts(texts: Iterable<string>): number {
  const facts = new Set<string>();
  for (const text of texts) {
    for (const fact of factsOf(text)) facts.add(fact);
    if (facts.size >= MAX_FACTS) break;
  }
  return Math.min(facts.size, MAX_FACTS);
}

export function planCompaction(
  store: SessionStore,
  input: { readonly leaf_id?: string; readonly rules: TenantRules },
): Result<CompactionPlanReply, Problem> {
  const found = asked(store, input);
  if (!found.ok) return found;
  const { leaf, policy } = found.value;
  const plan = planByHand(store, found.value);
  if (plan.kind === "skip") return ok(plan);
  const { target } = summarySize(policy, plan.tokens);
  return ok({
    kind: "compact",
    from_id: plan.fromId,
    to_id: plan.toId,
    messages: plan.messages,
    tokens: plan.tokens,
    target_tokens: target,
    saved_tokens: plan.tokens - target,
    facts: countFacts(textsOf(store, leaf, plan)),
    overlays: [...plan.feeds],
    model: policy.model,
  });
}

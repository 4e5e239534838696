/** Which literal facts of a range its summary still has, and the missing ones put back while they fit. Pure. */
import type { Retention } from "@sessionplane/shared/overlay";
import { estimateText } from "../tokens/estimate.ts";

const MAX_DROPPED_LISTED = 200;

/** A fact is kept where it stands as a whole: 12 is not kept by 120. */
function isKept(fact: string, summary: string): boolean {
  for (let at = summary.indexOf(fact); at !== -1; at = summary.indexOf(fact, at + 1)) {
    const before = summary[at - 1] ?? " ";
    const after = summary[at + fact.length] ?? " ";
    if (!/[A-Za-z0-9]/.test(before) && !/[A-Za-z0-9]/.test(after)) return true;
  }
  return false;
}

export function measureRetention(facts: readonly string[], summary: string): Retention {
  const dropped = facts.filter((fact) => !isKept(fact, summary));
  return { facts: facts.length, kept: facts.length - dropped.length, dropped: dropped.slice(0, MAX_DROPPED_LISTED) };
}

const share = ({ facts, kept }: Retention): number => (facts === 0 ? 1 : kept / facts);

/** The summary with missing facts appended under 'Facts', newest first, while it stays within `maxTokens`. */
export function restoreFacts(summary: string, facts: readonly string[], floor: number, maxTokens: number): string {
  if (share(measureRetention(facts, summary)) >= floor) return summary;
  const head = /^## Facts\s*$/m.test(summary) ? summary.trimEnd() : `${summary.trimEnd()}\n\n## Facts`;
  const restored: string[] = [];
  let tokens = estimateText(head);
  for (const fact of facts.filter((one) => !isKept(one, summary)).toReversed()) {
    // The separator counts too: a list is never cheaper than its parts.
    tokens += estimateText(fact) + 1;
    if (tokens > maxTokens) break;
    restored.unshift(fact);
  }
  return restored.length === 0 ? summary : `${head}\n- ${restored.join("; ")}`;
}

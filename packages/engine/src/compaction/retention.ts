/** Which literal facts of a range its summary still has, and the missing ones put back while they fit. Pure. */
import type { Retention } from "@sessionplane/shared/overlay";
import { estimateText } from "../tokens/estimate.ts";
import { takeFitting } from "./fit.ts";
import { holdsDebris } from "./validate.ts";

const MAX_DROPPED_LISTED = 200;

const BEGINS_INSIDE = /(?:[A-Za-z0-9]|\d[.,])$/;
const ENDS_INSIDE = /^(?:[A-Za-z0-9]|[.,]\d)/;
const ALPHANUMERIC = /[A-Za-z0-9]/;

/** A fact is kept where it stands as a whole: 12 is not kept by 120, nor by 12.5. */
export function isKept(fact: string, summary: string): boolean {
  const opens = ALPHANUMERIC.test(fact.charAt(0));
  const closes = ALPHANUMERIC.test(fact.charAt(fact.length - 1));
  for (let at = summary.indexOf(fact); at !== -1; at = summary.indexOf(fact, at + 1)) {
    const end = at + fact.length;
    const inside =
      (opens && BEGINS_INSIDE.test(summary.slice(Math.max(0, at - 2), at))) ||
      (closes && ENDS_INSIDE.test(summary.slice(end, end + 2)));
    if (!inside) return true;
  }
  return false;
}

export function measureRetention(facts: readonly string[], summary: string): Retention {
  const dropped = facts.filter((fact) => !isKept(fact, summary));
  return { facts: facts.length, kept: facts.length - dropped.length, dropped: dropped.slice(0, MAX_DROPPED_LISTED) };
}

const share = ({ facts, kept }: Retention): number => (facts === 0 ? 1 : kept / facts);

const FACTS_HEADING = /^## +Facts *$/m;

/** The summary around the end of its 'Facts', which need not be its last section. */
function splitAtFacts(summary: string): { readonly before: string; readonly after: string } {
  const heading = FACTS_HEADING.exec(summary);
  if (heading === null) return { before: `${summary.trimEnd()}\n\n## Facts`, after: "" };
  const start = heading.index + heading[0].length;
  const next = summary.indexOf("\n## ", start);
  const end = next === -1 ? summary.length : next;
  const section = summary.slice(start, end).trimEnd();
  const filled = /^\s*(?:- )?none\.?$/i.test(section) ? "" : section;
  return { before: summary.slice(0, start) + filled, after: next === -1 ? "" : `\n${summary.slice(next)}` };
}

/** Between the listed facts. */
export const FACT_SEPARATOR = "; ";

/**
 * The summary with missing facts added under 'Facts', the newest first chosen, while it stays within `maxTokens`.
 * A quotation of what no summary may hold is not put back.
 */
export function restoreFacts(summary: string, facts: readonly string[], floor: number, maxTokens: number): string {
  if (share(measureRetention(facts, summary)) >= floor) return summary;
  const { before, after } = splitAtFacts(summary);
  const missing = facts.filter((fact) => !isKept(fact, summary) && !holdsDebris(fact)).toReversed();
  // Each part is rounded up, so the whole is never more than their sum.
  const left = maxTokens - estimateText(`${before}\n- `) - estimateText(after);
  const restored = takeFitting(missing, FACT_SEPARATOR, left).toReversed();
  return restored.length === 0 ? summary : `${before}\n- ${restored.join(FACT_SEPARATOR)}${after}`;
}

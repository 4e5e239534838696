/**
 * A call that costs what its provider says, where the price book has no price of ours for all of it. Pure. The
 * amount is of the whole call: it stands on one line, and the others count without an amount.
 */
import { applyMarkup } from "@sessionplane/shared/money";
import type { UsageLine } from "@sessionplane/shared/usage-event";

/** A line of this class holds the amount; it is the last of an event's. */
const WHOLE = "request";

const countedOnly = ({ class: name, quantity }: UsageLine): UsageLine => ({
  ...{ class: name, quantity, price: null },
  ...{ list_nano: 0, billed_nano: 0 },
});

/** Null: with the markup it is more than a cell holds. */
export function byProviderCost(lines: readonly UsageLine[], cost: number, markupBps: number): UsageLine[] | null {
  const billed = applyMarkup(cost, markupBps);
  if (billed === null) return null;
  const counted = lines.find((line) => line.class === WHOLE)?.quantity ?? 0;
  const whole: UsageLine = { class: WHOLE, quantity: counted, price: null, list_nano: cost, billed_nano: billed };
  return [...lines.filter((line) => line.class !== WHOLE).map(countedOnly), whole];
}

/** The lines that were counted, without the one that is there for its amount alone. */
export const countedLines = (lines: readonly UsageLine[]): UsageLine[] =>
  lines.filter((line) => line.class !== WHOLE || line.quantity > 0);

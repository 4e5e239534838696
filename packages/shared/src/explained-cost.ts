/** Why many calls together cost what they cost: their lines by model, class and price. Pure. */
import * as z from "zod";
import { formatMoney, exactProduct, moneySchema } from "./money.ts";
import { usageClassSchema } from "./price.ts";
import { priceOf } from "./priced-usage.ts";
import { usageLineReplySchema, usageLineSchema } from "./usage-event.ts";

/** An explanation that were longer explains nothing. */
export const MAX_EXPLAINED_LINES = 10_000;

export const explainedLineSchema = usageLineReplySchema.omit({ quantity: true }).extend({
  provider: z.string(),
  model: z.string(),
  events: z.int().meta({ description: "Calls that have such a line" }),
  adjustments: z.int().meta({ description: "Corrections that have such a line; what they take back is negative" }),
  quantity: z.int().meta({ description: "With corrections" }),
  product: z.string().nullable().meta({ description: "Quantity times price in USD, exact" }),
  rounding: z.string().nullable().meta({ description: "What rounding line by line added, all in all, to make the list amount" }),
});

export const explainedTotalsSchema = z.object({
  events: z.int().nullable().meta({ description: "Null when one class alone is explained: a call has several" }),
  adjustments: z.int().nullable(),
  unpriced_events: z.int().nullable(),
  list_cost: moneySchema,
  cost: moneySchema,
});

export const explainedCostSchema = z.object({
  lines: z.array(explainedLineSchema),
  totals: explainedTotalsSchema.meta({ description: "What the lines add up to, and a report of the same calls" }),
});
export type ExplainedCost = z.infer<typeof explainedCostSchema>;

const integerText = z.string().regex(/^-?\d+$/);

/**
 * Lines of one provider, model, class and price row, added up. Sums are text: they may pass what a double holds.
 * `price`: JSON as in the lines, or null. `of_events`, `of_adjustments`, `unpriced`: counted on the first line of each.
 */
export const lineSumSchema = z.object({
  provider: z.string(),
  model: z.string(),
  class: usageClassSchema,
  price: z.string().nullable(),
  events: z.int(),
  adjustments: z.int(),
  quantity: z.int(),
  list: integerText,
  billed: integerText,
  of_events: z.int(),
  of_adjustments: z.int(),
  unpriced: z.int(),
});
export type LineSum = z.infer<typeof lineSumSchema>;

/**
 * The columns of `LineSum` over `e`, an event with the columns `event`, `adjusts`, `calls` (1, or 0 of a correction) and
 * `unpriced`, and `l`, one of its lines: for the catalog and for a session's object alike.
 */
export const LINE_SUMS = `
  e.event->>'$.provider' AS provider, e.event->>'$.model' AS model, l.value->>'$.class' AS class,
  min(CASE WHEN l.value->>'$.price.id' IS NULL THEN NULL ELSE l.value->'$.price' END) AS price,
  sum(e.calls) AS events, count(DISTINCT CASE WHEN e.calls = 0 THEN e.place END) AS adjustments,
  sum(l.value->>'$.quantity') AS quantity,
  CAST(sum(coalesce(l.value->>'$.list_nano', 0)) AS TEXT) AS list, CAST(sum(coalesce(l.value->>'$.billed_nano', 0)) AS TEXT) AS billed,
  sum((l.key = 0) * e.calls) AS of_events, sum((l.key = 0) * (1 - e.calls)) AS of_adjustments, sum((l.key = 0) * e.unpriced) AS unpriced`;
/** And how they are grouped and ordered. */
export const BY_LINE_SUMS = `
GROUP BY e.event->>'$.provider', e.event->>'$.model', l.value->>'$.class', l.value->>'$.price.id'
ORDER BY 1, 2, 3, l.value->>'$.price.id'`;

const parsePrice = (text: string | null) => (text === null ? null : usageLineSchema.shape.price.parse(JSON.parse(text)));

function explainLine(sum: LineSum): ExplainedCost["lines"][number] {
  const price = parsePrice(sum.price);
  // Without a price an amount is known only where someone else named it.
  const isUnknown = price === null && sum.quantity !== 0 && sum.list === "0" && sum.billed === "0";
  const exact = price === null ? null : exactProduct(sum.quantity, price.femto_usd_per_token, sum.list);
  const { provider, model, class: name, events, adjustments, quantity } = sum;
  return {
    ...{ provider, model, class: name, events, adjustments, quantity, price: priceOf({ price }) },
    list: isUnknown ? null : formatMoney(sum.list),
    billed: isUnknown ? null : formatMoney(sum.billed),
    product: exact?.product ?? null,
    rounding: exact?.rounding ?? null,
  };
}

const count = (sums: readonly LineSum[], of: (sum: LineSum) => number): number => sums.reduce((all, sum) => all + of(sum), 0);
const money = (sums: readonly LineSum[], of: "list" | "billed") =>
  formatMoney(sums.reduce((all, sum) => all + BigInt(sum[of]), 0n));

/** `ofOneClass`: other lines of the calls were left out. */
export function explainCost(sums: readonly LineSum[], ofOneClass: boolean): ExplainedCost {
  const countable = (of: (sum: LineSum) => number): number | null => (ofOneClass ? null : count(sums, of));
  return {
    lines: sums.map(explainLine),
    totals: {
      events: countable((sum) => sum.of_events),
      adjustments: countable((sum) => sum.of_adjustments),
      unpriced_events: countable((sum) => sum.unpriced),
      list_cost: money(sums, "list"),
      cost: money(sums, "billed"),
    },
  };
}

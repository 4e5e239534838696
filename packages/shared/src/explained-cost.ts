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
  cost_source: z
    .enum(["prices", "provider"])
    .nullable()
    .meta({ description: "Whose word the amounts are; null: they are not known" }),
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
 * `price`: JSON as in the lines, or null; then `told` is 1 where the provider's word is the amount, and 0 where none is
 * known. `of_events`, `of_adjustments`, `unpriced`: counted on the first line of each.
 */
export const lineSumSchema = z.object({
  provider: z.string(),
  model: z.string(),
  class: usageClassSchema,
  price: z.string().nullable(),
  told: z.int().nullable(),
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

/** Whether a call was without a price before a correction of it: what is after, less the change. */
const WAS_UNPRICED = `EXISTS (SELECT 1 FROM json_each(e.event, '$.lines') AS x WHERE x.value->>'$.list_nano' IS NULL)
    - (e.event->>'$.adjustment.unpriced_change')`;

/** What is taken back of a line without a price goes where the line went: its own amount is zero either way. */
const TOLD = `CASE WHEN l.value->>'$.price.id' IS NOT NULL THEN NULL
    WHEN l.key < coalesce(e.event->>'$.adjustment.reversed', 0) THEN ${WAS_UNPRICED} = 0
    ELSE l.value->>'$.list_nano' IS NOT NULL END`;

/**
 * SQL that gives `LineSum`s, for the catalog and for a session's object alike. `events`: a table or a subquery of
 * events with the columns `event`, `place` (which of them it is), `calls` (1; 0 of a correction) and `unpriced`.
 * `condition`: on `l`, a line.
 */
export const lineSums = (events: string, condition: string): string => `
SELECT provider, model, class, min(price) AS price, told, sum(calls) AS events,
  count(DISTINCT CASE WHEN calls = 0 THEN place END) AS adjustments, sum(quantity) AS quantity,
  CAST(sum(coalesce(list, 0)) AS TEXT) AS list, CAST(sum(coalesce(billed, 0)) AS TEXT) AS billed,
  sum(is_first * calls) AS of_events, sum(is_first * (1 - calls)) AS of_adjustments, sum(is_first * unpriced) AS unpriced
FROM (
  SELECT e.event->>'$.provider' AS provider, e.event->>'$.model' AS model, l.value->>'$.class' AS class,
    l.value->>'$.price.id' AS price_id, nullif(l.value->'$.price', 'null') AS price, ${TOLD} AS told, l.key = 0 AS is_first,
    e.calls AS calls, e.place AS place, e.unpriced AS unpriced,
    l.value->>'$.quantity' AS quantity, l.value->>'$.list_nano' AS list, l.value->>'$.billed_nano' AS billed
  FROM ${events} AS e, json_each(e.event, '$.lines') AS l WHERE ${condition})
GROUP BY provider, model, class, price_id, told
ORDER BY provider, model, class, price_id, told`;

const parsePrice = (text: string | null) => (text === null ? null : usageLineSchema.shape.price.parse(JSON.parse(text)));

const sourceOf = ({ price, told }: LineSum): "prices" | "provider" | null => {
  if (price !== null) return "prices";
  return told === 1 ? "provider" : null;
};

function explainLine(sum: LineSum): ExplainedCost["lines"][number] {
  const price = parsePrice(sum.price);
  const source = sourceOf(sum);
  // What was taken back whole is nothing, whatever it would have cost.
  const isKnown = source !== null || sum.quantity === 0;
  const exact = price === null ? null : exactProduct(sum.quantity, price.femto_usd_per_token, sum.list);
  const { provider, model, class: name, events, adjustments, quantity } = sum;
  return {
    ...{ provider, model, class: name, events, adjustments, quantity, price: priceOf({ price }), cost_source: source },
    list: isKnown ? formatMoney(sum.list) : null,
    billed: isKnown ? formatMoney(sum.billed) : null,
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

/** A priced event as the API shows it, and why it costs what it costs. Pure. */
import { formatInstant } from "./fields.ts";
import { exactProduct, formatMoney, formatUsdPerMillion } from "./money.ts";
import type { ExplainedUsage, PricedUsage, RecordedUsage, UsageAdjustment, UsageEvent, UsageLine } from "./usage-event.ts";

export const sumOf = (amounts: readonly (number | null)[]): number =>
  amounts.reduce<number>((sum, amount) => sum + (amount ?? 0), 0);

type Priced = { readonly lines: readonly UsageLine[] };

/** One line without a price, and the event's cost is not known. */
export const isUnpriced = ({ lines }: Priced): boolean => lines.some((line) => line.list_nano === null);

/** Amounts that no price of ours made. */
export const isByProvider = ({ lines }: Priced): boolean => lines.some((line) => line.price === null && line.list_nano !== null);

const costSourceOf = (event: Priced): UsageEvent["cost_source"] => {
  if (isUnpriced(event)) return null;
  return isByProvider(event) ? "provider" : "prices";
};

export const priceOf = ({ price }: Pick<UsageLine, "price">): UsageEvent["lines"][number]["price"] =>
  price === null
    ? null
    : {
        id: price.id,
        class: price.class,
        usd_per_million: formatUsdPerMillion(price.femto_usd_per_token),
        effective_from: formatInstant(price.effective_from),
        source: price.source,
        ...(price.provider === undefined ? {} : { provider: price.provider }),
        ...(price.model === undefined ? {} : { model: price.model }),
      };

const replyLine = (line: UsageLine): UsageEvent["lines"][number] => ({
  class: line.class,
  quantity: line.quantity,
  price: priceOf(line),
  list: line.list_nano === null ? null : formatMoney(line.list_nano),
  billed: line.billed_nano === null ? null : formatMoney(line.billed_nano),
});

const costsOf = (event: Priced) => ({
  cost: isUnpriced(event) ? null : formatMoney(sumOf(event.lines.map((line) => line.billed_nano))),
  list_cost: isUnpriced(event) ? null : formatMoney(sumOf(event.lines.map((line) => line.list_nano))),
});

export const recorded = (event: PricedUsage, status: RecordedUsage["status"]): RecordedUsage => ({
  id: event.id,
  status,
  ...costsOf(event),
  cost_source: costSourceOf(event),
  inconsistent: event.inconsistent ?? [],
  lines: event.lines.map(replyLine),
});

/** `recordedAt`: epoch milliseconds. */
export function toUsageEvent(sessionId: string, stored: PricedUsage, recordedAt: number): UsageEvent {
  const { lines, raw_usage: raw, fingerprint: _fingerprint, adjustment, markup_bps: _markup, ...rest } = stored;
  const { provider_cost_nano: told, inconsistent = [], ...event } = rest;
  return {
    ...event,
    session_id: sessionId,
    adjusts: adjustment?.of ?? null,
    occurred_at: formatInstant(event.occurred_at),
    recorded_at: formatInstant(recordedAt),
    lines: lines.map(replyLine),
    ...costsOf({ lines }),
    provider_cost: told === undefined ? null : formatMoney(told),
    cost_source: costSourceOf({ lines: lines.slice(adjustment?.reversed ?? 0) }),
    inconsistent,
    raw_usage: JSON.parse(raw),
  };
}

function explainLine(line: UsageLine): ExplainedUsage["lines"][number] {
  const shown = replyLine(line);
  if (line.price === null || line.list_nano === null) return { ...shown, product: null, rounding: null };
  return { ...shown, ...exactProduct(line.quantity, line.price.femto_usd_per_token, line.list_nano) };
}

/** What holds of an event after its corrections, oldest first. */
export function linesNow(event: PricedUsage, adjustments: readonly PricedUsage[]): readonly UsageLine[] {
  const last = adjustments.at(-1);
  return last === undefined ? event.lines : last.lines.slice(last.adjustment?.reversed ?? 0);
}

/** What does not add up of the report that holds, by its last correction. */
export const inconsistentNow = (event: PricedUsage, adjustments: readonly PricedUsage[]): readonly string[] =>
  (adjustments.at(-1) ?? event).inconsistent ?? [];

/** What holds of an event after a correction. */
export type Corrected = Pick<PricedUsage, "lines" | "input_tokens" | "output_tokens" | "raw_usage" | "inconsistent">;

/** What a correction adds: what held is taken back, what holds is posted. Null: it would change nothing. */
export function adjust(
  event: PricedUsage,
  adjustments: readonly PricedUsage[],
  to: Corrected,
  { id, reason }: { readonly id: string; readonly reason: string },
): PricedUsage | null {
  const before = linesNow(event, adjustments);
  const isSame =
    JSON.stringify([before, inconsistentNow(event, adjustments)]) === JSON.stringify([to.lines, to.inconsistent ?? []]);
  if (isSame) return null;
  const reversal = before.map((line) => ({
    ...line,
    quantity: -line.quantity,
    list_nano: -(line.list_nano ?? 0),
    billed_nano: -(line.billed_nano ?? 0),
  }));
  const told = [event, ...adjustments];
  const { provider_cost_nano: _ofTheCall, inconsistent: _before, ...call } = event;
  return {
    ...call,
    ...(to.inconsistent === undefined ? {} : { inconsistent: to.inconsistent }),
    id,
    fingerprint: id,
    lines: [...reversal, ...to.lines],
    input_tokens: to.input_tokens - sumOf(told.map((one) => one.input_tokens)),
    output_tokens: to.output_tokens - sumOf(told.map((one) => one.output_tokens)),
    raw_usage: to.raw_usage,
    adjustment: {
      of: event.id,
      reason,
      reversed: reversal.length,
      unpriced_change: Number(isUnpriced(to)) - Number(isUnpriced({ lines: before })),
    },
  };
}

/** An event and when it was recorded, in epoch milliseconds. */
export type StoredUsage = { readonly event: PricedUsage; readonly recordedAt: number };

export const toAdjustment = ({ event: { id, lines, adjustment }, recordedAt }: StoredUsage): UsageAdjustment => ({
  id,
  event_id: adjustment?.of ?? "",
  reason: adjustment?.reason ?? "",
  recorded_at: formatInstant(recordedAt),
  lines: lines.map(replyLine),
  list_change: formatMoney(sumOf(lines.map((line) => line.list_nano))),
  cost_change: formatMoney(sumOf(lines.map((line) => line.billed_nano))),
});

/** Every line that holds, with its product and what rounding it once took or gave: they add up to the cost. */
export function explainUsage(sessionId: string, stored: StoredUsage, adjustments: readonly StoredUsage[]): ExplainedUsage {
  const { event, recordedAt } = stored;
  const corrections = adjustments.map((one) => one.event);
  const lines = linesNow(event, corrections);
  const shown = toUsageEvent(sessionId, event, recordedAt);
  const { id, provider, model, purpose, occurred_at, recorded_at, normalizer_version, raw_usage, provider_cost } = shown;
  return {
    ...{ event_id: id, session_id: sessionId, provider, model, purpose, occurred_at, recorded_at },
    lines: lines.map(explainLine),
    ...{ ...costsOf({ lines }), provider_cost, cost_source: costSourceOf({ lines }) },
    inconsistent: [...inconsistentNow(event, corrections)],
    ...{ markup_bps: event.markup_bps ?? null, raw_usage, normalizer_version },
    adjustments: adjustments.map(toAdjustment),
  };
}

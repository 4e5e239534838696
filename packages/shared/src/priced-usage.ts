/** A priced event as the API shows it, and why it costs what it costs. Pure. */
import { formatInstant } from "./fields.ts";
import { exactProduct, formatMoney, formatUsdPerMillion } from "./money.ts";
import type { ExplainedUsage, PricedUsage, RecordedUsage, UsageEvent, UsageLine } from "./usage-event.ts";

export const sumOf = (amounts: readonly (number | null)[]): number =>
  amounts.reduce<number>((sum, amount) => sum + (amount ?? 0), 0);

/** One line without a price, and the event's cost is not known. */
export const isUnpriced = ({ lines }: Pick<PricedUsage, "lines">): boolean => lines.some((line) => line.list_nano === null);

const priceOf = ({ price }: UsageLine): UsageEvent["lines"][number]["price"] =>
  price === null
    ? null
    : {
        id: price.id,
        class: price.class,
        usd_per_million: formatUsdPerMillion(price.femto_usd_per_token),
        effective_from: formatInstant(price.effective_from),
        source: price.source,
      };

const replyLine = (line: UsageLine): UsageEvent["lines"][number] => ({
  class: line.class,
  quantity: line.quantity,
  price: priceOf(line),
  list: line.list_nano === null ? null : formatMoney(line.list_nano),
  billed: line.billed_nano === null ? null : formatMoney(line.billed_nano),
});

const costsOf = (event: Pick<PricedUsage, "lines">) => ({
  cost: isUnpriced(event) ? null : formatMoney(sumOf(event.lines.map((line) => line.billed_nano))),
  list_cost: isUnpriced(event) ? null : formatMoney(sumOf(event.lines.map((line) => line.list_nano))),
});

export const recorded = (event: PricedUsage, status: RecordedUsage["status"]): RecordedUsage => ({
  id: event.id,
  status,
  ...costsOf(event),
  lines: event.lines.map(replyLine),
});

/** `recordedAt`: epoch milliseconds. */
export function toUsageEvent(sessionId: string, stored: PricedUsage, recordedAt: number): UsageEvent {
  const { lines, raw_usage: raw, fingerprint: _fingerprint, ...event } = stored;
  return {
    ...event,
    session_id: sessionId,
    occurred_at: formatInstant(event.occurred_at),
    recorded_at: formatInstant(recordedAt),
    lines: lines.map(replyLine),
    ...costsOf({ lines }),
    raw_usage: JSON.parse(raw),
  };
}

function explainLine(line: UsageLine): ExplainedUsage["lines"][number] {
  const shown = replyLine(line);
  if (line.price === null || line.list_nano === null) return { ...shown, product: null, rounding: null };
  return { ...shown, ...exactProduct(line.quantity, line.price.femto_usd_per_token, line.list_nano) };
}

/** Every line with its product and what rounding it once took or gave: they add up to the cost. */
export function explainUsage(sessionId: string, stored: PricedUsage, recordedAt: number): ExplainedUsage {
  const { id, provider, model, purpose, occurred_at, recorded_at, list_cost, cost, normalizer_version, raw_usage } = toUsageEvent(
    sessionId,
    stored,
    recordedAt,
  );
  return {
    ...{ event_id: id, session_id: sessionId, provider, model, purpose, occurred_at, recorded_at },
    lines: stored.lines.map(explainLine),
    ...{ list_cost, cost, raw_usage, normalizer_version },
  };
}

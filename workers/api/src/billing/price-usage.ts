/** A usage event with a price and a cost on every line. Pure: rows, markup and clock are arguments. */
import { MAX_CELL, applyMarkup, costNano } from "@sessionplane/shared/money";
import { COUNTED_UNITS, TOKEN_CLASSES, type UsageClass } from "@sessionplane/shared/price";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { NewUsageEvent, PricedUsage, UsageLine } from "@sessionplane/shared/usage-event";
import { NORMALIZER_VERSION, type NormalisedUsage, normaliseUsage } from "./normalise-usage.ts";
import { type PriceMoment, type PriceRow, resolvePrice } from "./resolve-price.ts";

/** Clocks of callers differ from ours. */
const MAX_CLOCK_SKEW_MS = 5 * 60 * 1000;
const MAX_RAW_USAGE_BYTES = 16 * 1024;

export type ModelName = { readonly provider: string; readonly model: string };

/** Provider and model, which may come as `provider/model`. */
export function modelOf(event: Pick<NewUsageEvent, "provider" | "model">): Result<ModelName, Problem> {
  if (event.provider !== undefined) return ok({ provider: event.provider, model: event.model });
  const slash = event.model.indexOf("/");
  if (slash > 0 && slash < event.model.length - 1) {
    return ok({ provider: event.model.slice(0, slash), model: event.model.slice(slash + 1) });
  }
  return err(fieldProblem("invalid", "/provider", "name the provider, or write the model as provider/model"));
}

/** Of a line; their sums over the event are cells too. */
const AMOUNTS = ["list_nano", "billed_nano"] as const;

const OVERFLOW = problem("amount_overflow", "The cost is more than one amount holds (about 9 million USD).", {
  errors: [{ pointer: "/usage", code: "amount_overflow", message: "the cost passes what one amount holds" }],
});

function lineOf(
  name: UsageClass,
  quantity: number,
  rows: readonly PriceRow[],
  moment: PriceMoment,
  markupBps: number,
): UsageLine | null {
  const price = resolvePrice(rows, name, moment);
  if (price === null) return { class: name, quantity, price: null, list_nano: null, billed_nano: null };
  const list = costNano(quantity, price.femtoUsdPerToken);
  const billed = list === null ? null : applyMarkup(list, markupBps);
  if (list === null || billed === null) return null;
  const { id, class: priced, femtoUsdPerToken, effectiveFrom, source } = price;
  return {
    class: name,
    quantity,
    price: { id, class: priced, femto_usd_per_token: femtoUsdPerToken, effective_from: effectiveFrom, source },
    list_nano: list,
    billed_nano: billed,
  };
}

/** A line for every class that was used; one for `input` when none was, since the event counts on its first line. */
function linesOf(usage: NormalisedUsage, rows: readonly PriceRow[], at: number, markupBps: number): Result<UsageLine[], Problem> {
  const used = [...TOKEN_CLASSES, ...COUNTED_UNITS].filter((name) => (usage.counts[name] ?? 0) > 0);
  const lines: UsageLine[] = [];
  for (const name of used.length === 0 ? (["input"] as const) : used) {
    const line = lineOf(name, usage.counts[name] ?? 0, rows, { at, inputTokens: usage.inputTokens }, markupBps);
    if (line === null) return err(OVERFLOW);
    lines.push(line);
  }
  const fits = AMOUNTS.every((amount) => lines.reduce((sum, line) => sum + BigInt(line[amount] ?? 0), 0n) <= MAX_CELL);
  return fits ? ok(lines) : err(OVERFLOW);
}

/** Lines that were priced once, by the prices that are known now of the same moment. Null: an amount overflows. */
export function rerate(
  lines: readonly UsageLine[],
  rows: readonly PriceRow[],
  moment: PriceMoment,
  markupBps: number,
): UsageLine[] | null {
  const rated = lines.map((line) => lineOf(line.class, line.quantity, rows, moment, markupBps));
  return rated.every((line) => line !== null) ? rated : null;
}

function occurredAt(event: NewUsageEvent, now: number): Result<number, Problem> {
  if (event.occurred_at === undefined) return ok(now);
  const at = Date.parse(event.occurred_at);
  if (at > now + MAX_CLOCK_SKEW_MS) return err(fieldProblem("invalid", "/occurred_at", "is in the future"));
  return at < 0 ? err(fieldProblem("invalid", "/occurred_at", "is before 1970")) : ok(at);
}

export type Identity = { readonly id: string; readonly fingerprint: string };

/** `rows`: the prices of the event's provider and model. Pointers of a refusal are relative to the event. */
export function priceUsage(
  event: NewUsageEvent,
  { id, fingerprint }: Identity,
  rows: readonly PriceRow[],
  markupBps: number,
  now: number,
): Result<PricedUsage, Problem> {
  const model = modelOf(event);
  if (!model.ok) return model;
  const at = occurredAt(event, now);
  if (!at.ok) return at;
  const raw = JSON.stringify(event.usage);
  if (new TextEncoder().encode(raw).byteLength > MAX_RAW_USAGE_BYTES)
    return err(fieldProblem("invalid", "/usage", `has more than ${MAX_RAW_USAGE_BYTES} bytes of JSON`));
  const usage = normaliseUsage(event.usage);
  if (!usage.ok) return usage;
  const lines = linesOf(usage.value, rows, at.value, markupBps);
  if (!lines.ok) return lines;
  return ok({
    id,
    fingerprint,
    ...model.value,
    purpose: event.purpose ?? "turn",
    status: event.status ?? "final",
    user_id: event.user_id ?? null,
    message_id: event.message_id ?? null,
    request_id: event.request_id ?? null,
    tags: event.tags ?? {},
    occurred_at: at.value,
    input_tokens: usage.value.inputTokens,
    output_tokens: usage.value.outputTokens,
    lines: lines.value,
    raw_usage: raw,
    normalizer_version: NORMALIZER_VERSION,
    markup_bps: markupBps,
  });
}

/** A usage event with a price and a cost on every line. Pure: prices, the tenant's terms and the clock are arguments. */
import { MAX_CELL, applyMarkup, costNano, parseAmount } from "@sessionplane/shared/money";
import { COUNTED_UNITS, TOKEN_CLASSES, type UsageClass } from "@sessionplane/shared/price";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { isUnpriced } from "@sessionplane/shared/priced-usage";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { NewUsageEvent, PricedUsage, UsageLine } from "@sessionplane/shared/usage-event";
import type { TenantSettings } from "@sessionplane/shared/tenant";
import { NORMALIZER_VERSION, type NormalisedUsage, normaliseUsage } from "./normalise-usage.ts";
import { byProviderCost, countedLines } from "./provider-cost.ts";
import { type ModelName, type ModelPrices, type PriceMoment, type PriceRow, pricesAt, resolvePrice } from "./resolve-price.ts";

/** Clocks of callers differ from ours. */
const MAX_CLOCK_SKEW_MS = 5 * 60 * 1000;
const MAX_RAW_USAGE_BYTES = 16 * 1024;

/** Of the tenant's settings, what rules an event's amounts. */
export type BillingTerms = Pick<TenantSettings, "markup_bps" | "trust_provider_cost">;

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

/** A price as its line keeps it: with the model's name where it is another's. */
function pricedBy({ id, class: name, provider, model, ...row }: PriceRow, called: ModelName): NonNullable<UsageLine["price"]> {
  const kept = {
    id,
    class: name,
    femto_usd_per_token: row.femtoUsdPerToken,
    effective_from: row.effectiveFrom,
    source: row.source,
  };
  return provider === called.provider && model === called.model ? kept : { ...kept, provider, model };
}

/** Null: an amount overflows. */
function lineOf(
  name: UsageClass,
  quantity: number,
  prices: ModelPrices,
  moment: PriceMoment,
  markupBps: number,
): UsageLine | null {
  const price = resolvePrice(pricesAt(prices, moment.at).rows, name, moment);
  if (price === null) return { class: name, quantity, price: null, list_nano: null, billed_nano: null };
  const list = costNano(quantity, price.femtoUsdPerToken);
  const billed = list === null ? null : applyMarkup(list, markupBps);
  if (list === null || billed === null) return null;
  return { class: name, quantity, price: pricedBy(price, prices), list_nano: list, billed_nano: billed };
}

/** A class and how many of it, before it has a price. */
type Counted = Pick<UsageLine, "class" | "quantity">;

/** What was counted, by the model's prices, or whole by the provider's cost where one of them is missing. Null: an amount overflows. */
function rate(
  counted: readonly Counted[],
  prices: ModelPrices,
  moment: PriceMoment,
  markupBps: number,
  providerCost: number | null,
): UsageLine[] | null {
  const lines = counted.map((one) => lineOf(one.class, one.quantity, prices, moment, markupBps));
  if (!lines.every((line) => line !== null)) return null;
  const rated = providerCost !== null && isUnpriced({ lines }) ? byProviderCost(lines, providerCost, markupBps) : lines;
  const fits = AMOUNTS.every((amount) => (rated ?? []).reduce((sum, line) => sum + BigInt(line[amount] ?? 0), 0n) <= MAX_CELL);
  return fits ? rated : null;
}

/** Lines that were rated once, by the prices that are known now of the same moment. Null: an amount overflows. */
export const rerate = (
  lines: readonly UsageLine[],
  prices: ModelPrices,
  moment: PriceMoment,
  markupBps: number,
  providerCost: number | null,
): UsageLine[] | null => rate(countedLines(lines), prices, moment, markupBps, providerCost);

/** Every class that was used; `input` when none was, since the event counts on its first line. */
function countedOf({ counts }: NormalisedUsage): Counted[] {
  const used = [...TOKEN_CLASSES, ...COUNTED_UNITS].filter((name) => (counts[name] ?? 0) > 0);
  return (used.length === 0 ? (["input"] as const) : used).map((name) => ({ class: name, quantity: counts[name] ?? 0 }));
}

function occurredAt(event: NewUsageEvent, now: number): Result<number, Problem> {
  if (event.occurred_at === undefined) return ok(now);
  const at = Date.parse(event.occurred_at);
  if (at > now + MAX_CLOCK_SKEW_MS) return err(fieldProblem("invalid", "/occurred_at", "is in the future"));
  return at < 0 ? err(fieldProblem("invalid", "/occurred_at", "is before 1970")) : ok(at);
}

export type Identity = { readonly id: string; readonly fingerprint: string };

/** `prices`: of the event's provider and model. Pointers of a refusal are relative to the event. */
export function priceUsage(
  event: NewUsageEvent,
  { id, fingerprint }: Identity,
  prices: ModelPrices,
  terms: BillingTerms,
  now: number,
): Result<PricedUsage, Problem> {
  const at = occurredAt(event, now);
  if (!at.ok) return at;
  const raw = JSON.stringify(event.usage);
  if (new TextEncoder().encode(raw).byteLength > MAX_RAW_USAGE_BYTES)
    return err(fieldProblem("invalid", "/usage", `has more than ${MAX_RAW_USAGE_BYTES} bytes of JSON`));
  const usage = normaliseUsage(event.usage);
  if (!usage.ok) return usage;
  const { inputTokens, outputTokens, inconsistent } = usage.value;
  const stated = event.provider_cost === undefined ? null : parseAmount(event.provider_cost.amount);
  const moment = { at: at.value, inputTokens };
  const lines = rate(countedOf(usage.value), prices, moment, terms.markup_bps, terms.trust_provider_cost ? stated : null);
  if (lines === null) return err(OVERFLOW);
  return ok({
    id,
    fingerprint,
    provider: prices.provider,
    model: prices.model,
    purpose: event.purpose ?? "turn",
    status: event.status ?? "final",
    user_id: event.user_id ?? null,
    message_id: event.message_id ?? null,
    request_id: event.request_id ?? null,
    tags: event.tags ?? {},
    occurred_at: at.value,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    lines,
    raw_usage: raw,
    normalizer_version: NORMALIZER_VERSION,
    ...(inconsistent.length === 0 ? {} : { inconsistent: [...inconsistent] }),
    ...(stated === null ? {} : { provider_cost_nano: stated }),
    markup_bps: terms.markup_bps,
  });
}

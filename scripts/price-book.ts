/**
 * The price book of `@pydantic/genai-prices` as rows of ours. A script only: the package is never bundled
 * into a worker. What our book can't express is listed, not guessed.
 */
import { type ConditionalPrice, type ModelInfo, type ModelPrice, findProvider } from "@pydantic/genai-prices";
import type { NewPrice, UsageClass } from "@sessionplane/shared/price";

/** The package finds a provider by id, and has no list of them. */
const PROVIDERS = [
  "anthropic",
  "avian",
  "aws",
  "azure",
  "cerebras",
  "cohere",
  "deepseek",
  "fireworks",
  "google",
  "groq",
  "mistral",
  "moonshotai",
  "novita",
  "openai",
  "openrouter",
  "perplexity",
  "together",
  "x-ai",
];

/** Their fields: USD per million tokens, but for searches, which are per thousand. */
const FIELDS: Readonly<Record<string, { readonly class: UsageClass; readonly perMillion: number }>> = {
  input_mtok: { class: "input", perMillion: 1 },
  output_mtok: { class: "output", perMillion: 1 },
  cache_read_mtok: { class: "cache_read", perMillion: 1 },
  cache_write_mtok: { class: "cache_write_5m", perMillion: 1 },
  cache_write_1h_mtok: { class: "cache_write_1h", perMillion: 1 },
  input_audio_mtok: { class: "input_audio", perMillion: 1 },
  output_audio_mtok: { class: "output_audio", perMillion: 1 },
  output_reasoning_mtok: { class: "reasoning", perMillion: 1 },
  web_searches_kcount: { class: "web_search", perMillion: 1_000 },
};

const BEGINNING_OF_TIME = "1970-01-01T00:00:00.000Z";
const SOURCE = "genai-prices 0.1.8";
const MAX_PLACES = 9;

export type PriceBook = { readonly prices: readonly NewPrice[]; readonly notExpressed: readonly string[] };

/** A float as the decimal that people wrote; null when it has more places than a price holds. */
export function decimalOf(value: number): string | null {
  if (!Number.isFinite(value) || value < 0) return null;
  const text = Number(value.toPrecision(15)).toFixed(MAX_PLACES);
  return Math.abs(Number(text) - value) > value * 1e-12 ? null : text.replace(/\.?0+$/, "");
}

/** The model's id, and the other names that mean exactly it. */
function namesOf(model: ModelInfo): string[] {
  const names = new Set([model.id]);
  const { match } = model;
  for (const clause of "or" in match ? match.or : [match]) if ("equals" in clause) names.add(clause.equals);
  return [...names];
}

function startOf({ constraint }: ConditionalPrice): string | null {
  if (constraint === undefined) return BEGINNING_OF_TIME;
  return constraint.type === "start_date" ? `${constraint.start_date}T00:00:00.000Z` : null;
}

type Amount = { readonly tier: number; readonly value: number };

const amountsOf = (price: NonNullable<ModelPrice[string]>): Amount[] =>
  typeof price === "number"
    ? [{ tier: 0, value: price }]
    : [{ tier: 0, value: price.base }, ...price.tiers.map((tier) => ({ tier: tier.start, value: tier.price }))];

function pricesOf(provider: string, model: ModelInfo, notExpressed: string[]): NewPrice[] {
  const periods: ConditionalPrice[] = Array.isArray(model.prices) ? model.prices : [{ prices: model.prices }];
  const prices: NewPrice[] = [];
  for (const period of periods) {
    const from = startOf(period);
    if (from === null) {
      notExpressed.push(`${provider}/${model.id}: a price by time of day`);
      continue;
    }
    for (const [field, price] of Object.entries(period.prices)) {
      if (price === undefined) continue;
      const known = FIELDS[field];
      if (known === undefined) {
        notExpressed.push(`${provider}/${model.id}: ${field}`);
        continue;
      }
      for (const { tier, value } of amountsOf(price)) {
        const usd = decimalOf(value * known.perMillion);
        if (usd === null) {
          notExpressed.push(`${provider}/${model.id}: ${field} of ${value}`);
          continue;
        }
        for (const name of namesOf(model)) {
          const price: NewPrice = {
            provider,
            model: name,
            class: known.class,
            usd_per_million: usd,
            effective_from: from,
            source: SOURCE,
          };
          prices.push(tier === 0 ? price : { ...price, tier_min: tier });
        }
      }
    }
  }
  return prices;
}

/** One amount for each moment: where the package states two, the first stands and the other is listed. */
function distinct(prices: readonly NewPrice[], notExpressed: string[]): NewPrice[] {
  const byMoment = new Map<string, NewPrice>();
  for (const price of prices) {
    const moment = JSON.stringify([price.provider, price.model, price.class, price.tier_min ?? 0, price.effective_from]);
    const present = byMoment.get(moment);
    if (present === undefined) byMoment.set(moment, price);
    else if (present.usd_per_million !== price.usd_per_million)
      notExpressed.push(`${price.provider}/${price.model}: two amounts of ${price.class}`);
  }
  return [...byMoment.values()];
}

/** The built-in model runs on the plane's own hardware. */
const BUILT_IN: readonly NewPrice[] = (["input", "output"] as const).map((name) => ({
  provider: "builtin",
  model: "extractive",
  class: name,
  usd_per_million: "0",
  effective_from: BEGINNING_OF_TIME,
  source: "built in",
}));

export function priceBook(): PriceBook {
  const notExpressed: string[] = [];
  const prices = PROVIDERS.flatMap((id) =>
    (findProvider({ providerId: id })?.models ?? []).flatMap((model) => pricesOf(id, model, notExpressed)),
  );
  return { prices: distinct([...BUILT_IN, ...prices], notExpressed), notExpressed };
}

export type ImportResult = {
  readonly created: number;
  readonly unchanged: number;
  readonly conflicts: readonly { line: number; message: string }[];
  readonly invalid: readonly { line: number; pointer: string; message: string }[];
};

/** Sends the book to a plane. Repeating it changes nothing. */
export async function importPriceBook(url: string, operatorKey: string, book: PriceBook, dryRun: boolean): Promise<ImportResult> {
  const response = await fetch(`${url}/v1/prices/import${dryRun ? "?dry_run=1" : ""}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${operatorKey}`, "Content-Type": "application/x-ndjson" },
    body: book.prices.map((price) => JSON.stringify(price)).join("\n"),
  });
  if (!response.ok) throw new Error(`the import was refused: ${await response.text()}`);
  return response.json();
}

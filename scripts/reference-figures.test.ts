/**
 * Costs of real models against two other ways to work them out: decimal arithmetic of this test's own, exact,
 * and the package that the prices come from, within the error of its floats.
 */
import { calcPrice, findProvider } from "@pydantic/genai-prices";
import { describe, expect, test } from "vitest";
import type { NewPrice } from "@sessionplane/shared/price";
import { parseUsdPerMillion } from "@sessionplane/shared/money";
import { priceUsage } from "../workers/api/src/billing/price-usage.ts";
import type { PriceRow } from "../workers/api/src/billing/resolve-price.ts";
import { priceBook } from "./price-book.ts";

const PROVIDERS = ["openai", "anthropic", "google", "x-ai", "groq", "mistral", "deepseek", "cohere"];
const MODELS_PER_PROVIDER = 12;
const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 30);

const book = priceBook();
const rowsOf = (provider: string, model: string): PriceRow[] =>
  book.prices
    .filter((price) => price.provider === provider && price.model === model)
    .map((price, index) => ({
      id: `price-${index}`,
      tenantId: "",
      provider,
      model,
      class: price.class,
      tierMin: price.tier_min ?? 0,
      femtoUsdPerToken: parseUsdPerMillion(price.usd_per_million) ?? -1,
      effectiveFrom: Date.parse(price.effective_from),
      recordedAt: 0,
      source: price.source ?? "",
    }));

/** Models whose prices the book expresses whole. */
const models = PROVIDERS.flatMap((provider) =>
  (findProvider({ providerId: provider })?.models ?? [])
    .filter(({ id }) => !book.notExpressed.some((line) => line.startsWith(`${provider}/${id}:`)))
    .filter(({ id }) => calcPrice({ input_tokens: 1 }, id, { providerId: provider }) != null)
    .map(({ id }) => ({ provider, model: id, rows: rowsOf(provider, id) }))
    .filter(({ rows }) => rows.some((row) => row.class === "input") && rows.some((row) => row.class === "output"))
    .slice(0, MODELS_PER_PROVIDER),
);

type Usage = { input: number; cache_read: number; cache_write_5m: number; output: number; reasoning: number };

/** Small and large calls, with caches, reasoning, and inputs past the tiers of long contexts. */
const USAGES: readonly Usage[] = [
  { input: 1, cache_read: 0, cache_write_5m: 0, output: 1, reasoning: 0 },
  { input: 1_234, cache_read: 0, cache_write_5m: 0, output: 567, reasoning: 0 },
  { input: 999, cache_read: 12_345, cache_write_5m: 0, output: 321, reasoning: 77 },
  { input: 3, cache_read: 7, cache_write_5m: 4_735, output: 255, reasoning: 0 },
  { input: 250_001, cache_read: 33_333, cache_write_5m: 0, output: 8_191, reasoning: 4_097 },
];

const DECIMAL_PLACES = 9n;

/** Quantity times a decimal price per million, in nano-USD, rounded half to even. By digits of its own. */
function nanoOf(quantity: number, usdPerMillion: string): bigint {
  const [whole = "0", fraction = ""] = usdPerMillion.split(".");
  const scaled = BigInt(whole + fraction.padEnd(Number(DECIMAL_PLACES), "0")) * BigInt(quantity);
  // 9 places of the price and 6 of the million, less the 9 of a nano.
  const divisor = 1_000_000n;
  const [floor, rest] = [scaled / divisor, scaled % divisor];
  if (rest * 2n === divisor) return floor % 2n === 0n ? floor : floor + 1n;
  return rest * 2n > divisor ? floor + 1n : floor;
}

const decimalOf = (price: Pick<NewPrice, "usd_per_million">): string => price.usd_per_million;

describe.each(models)("$provider/$model", ({ provider, model, rows }) => {
  const classes = new Set(rows.map((row) => row.class));
  const usages = USAGES.filter(
    (usage) =>
      (usage.cache_read === 0 || classes.has("cache_read")) && (usage.cache_write_5m === 0 || classes.has("cache_write_5m")),
  );

  // Now, and the day before each change of a price.
  const before = new Set(rows.filter((row) => row.effectiveFrom > 0).map((row) => row.effectiveFrom - DAY_MS));
  const moments = [NOW, ...before].filter((at) => rows.some((row) => row.class === "input" && row.effectiveFrom <= at));
  const cases = moments.flatMap((at) => usages.map((usage) => ({ at, usage })));

  test.each(cases)("$usage at $at costs what exact decimals say, and what the package says", ({ at, usage }) => {
    const event = { provider, model, usage, occurred_at: new Date(at).toISOString() };
    const prices = { provider, model, rows, aliases: [] };
    const terms = { markup_bps: 0, trust_provider_cost: false };
    const priced = priceUsage(event, { id: "e", fingerprint: "f" }, prices, terms, NOW);
    if (!priced.ok) throw new Error(priced.error.detail);
    let total = 0n;
    for (const line of priced.value.lines) {
      const price = book.prices.find(
        (one) =>
          one.provider === provider &&
          one.model === model &&
          one.class === line.price?.class &&
          parseUsdPerMillion(one.usd_per_million) === line.price.femto_usd_per_token,
      );
      if (price === undefined) throw new Error(`no price of ${line.class}`);
      expect(BigInt(line.list_nano ?? -1)).toBe(nanoOf(line.quantity, decimalOf(price)));
      total += nanoOf(line.quantity, decimalOf(price));
    }
    const theirs = calcPrice(
      {
        input_tokens: usage.input + usage.cache_read + usage.cache_write_5m,
        cache_read_tokens: usage.cache_read,
        cache_write_tokens: usage.cache_write_5m,
        output_tokens: usage.output + usage.reasoning,
      },
      model,
      { providerId: provider, timestamp: new Date(at) },
    );
    if (theirs === null || theirs === undefined) throw new Error("the package has no price");
    // Half a nano-USD a line, and what floats lose.
    const tolerance = 0.5e-9 * priced.value.lines.length + theirs.total_price * 1e-9;
    expect(Math.abs(Number(total) / 1e9 - theirs.total_price)).toBeLessThanOrEqual(tolerance);
  });
});

test("there are at least 40 models and 200 figures, some of models whose price has changed", () => {
  expect(models.length).toBeGreaterThanOrEqual(40);
  expect(models.some(({ rows }) => rows.some((row) => row.effectiveFrom > 0))).toBe(true);
  expect(models.length * USAGES.length).toBeGreaterThanOrEqual(200);
});

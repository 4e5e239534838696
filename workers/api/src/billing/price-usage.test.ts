import { describe, expect, test } from "vitest";
import type { NewUsageEvent, UsageLine } from "@sessionplane/shared/usage-event";
import { isUnpriced, sumOf } from "@sessionplane/shared/priced-usage";
import { modelOf, priceUsage, rerate } from "./price-usage.ts";
import type { ModelPrices, PriceRow } from "./resolve-price.ts";

const NOW = Date.parse("2026-06-01T00:00:00Z");
const IDENTITY = { id: "use_1", fingerprint: "f" };

const row = (name: PriceRow["class"], femto: number, changes: Partial<PriceRow> = {}): PriceRow => ({
  ...{ id: `prc_${name}`, tenantId: "", provider: "openai", model: "gpt-4o", class: name, tierMin: 0, femtoUsdPerToken: femto },
  ...{ effectiveFrom: 0, recordedAt: 0, source: "test" },
  ...changes,
});
const ROWS = [row("input", 2_500_000_000), row("output", 10_000_000_000)];
const event = (changes: Partial<NewUsageEvent> = {}): NewUsageEvent => ({
  ...{ provider: "openai", model: "gpt-4o", usage: { inputTokens: 1_000, outputTokens: 100 } },
  ...changes,
});
const TERMS = { markup_bps: 0, trust_provider_cost: false };
const book = (rows: readonly PriceRow[]): ModelPrices => ({ provider: "openai", model: "gpt-4o", rows, aliases: [] });
const price = (changes: Partial<NewUsageEvent> = {}, rows: readonly PriceRow[] = ROWS, terms: Partial<typeof TERMS> = {}) =>
  priceUsage(event(changes), IDENTITY, book(rows), { ...TERMS, ...terms }, NOW);
const priced = (...input: Parameters<typeof price>) => {
  const result = price(...input);
  if (!result.ok) throw new Error(result.error.detail);
  return result.value;
};

const refusal = (changes: Partial<NewUsageEvent>, rows?: readonly PriceRow[]) => {
  const result = price(changes, rows);
  return result.ok ? null : [result.error.code, result.error.errors?.[0]?.pointer];
};

describe("priceUsage", () => {
  test("gives each class that was used a line with its price and cost", () => {
    expect(price({}, ROWS, { markup_bps: 1_000 })).toMatchObject({
      ok: true,
      value: {
        ...{ provider: "openai", model: "gpt-4o", occurred_at: NOW, input_tokens: 1_000, output_tokens: 100, purpose: "turn" },
        lines: [
          { class: "input", quantity: 1_000, price: { id: "prc_input" }, list_nano: 2_500_000, billed_nano: 2_750_000 },
          { class: "output", quantity: 100, price: { id: "prc_output" }, list_nano: 1_000_000, billed_nano: 1_100_000 },
        ],
      },
    });
  });

  test("says whose price it is where another class's stands in", () => {
    const usage = { inputTokens: 0, outputTokens: 9, outputTokenDetails: { reasoningTokens: 9 } };
    expect(price({ usage })).toMatchObject({ value: { lines: [{ class: "reasoning", price: { class: "output" } }] } });
  });

  test("leaves a line without a price unpriced", () => {
    expect(price({}, ROWS.slice(0, 1))).toMatchObject({
      value: {
        lines: [
          { class: "input", list_nano: 2_500_000 },
          { class: "output", price: null, list_nano: null, billed_nano: null },
        ],
      },
    });
  });

  test("has one line when nothing was used, so that the event is counted", () => {
    expect(price({ usage: { inputTokens: 0, outputTokens: 0 } })).toMatchObject({
      value: { lines: [{ class: "input", quantity: 0, list_nano: 0 }] },
    });
  });

  test("prices by the moment at which the tokens were spent", () => {
    const rows = [...ROWS, row("input", 1, { id: "prc_later", effectiveFrom: NOW - 10 })];
    const idAt = (occurredAt: number) => {
      const result = price({ occurred_at: new Date(occurredAt).toISOString() }, rows);
      return result.ok ? result.value.lines[0]?.price?.id : null;
    };
    expect([idAt(NOW - 11), idAt(NOW - 10)]).toEqual(["prc_input", "prc_later"]);
  });

  test("prices every class of a long call by its tier", () => {
    const rows = [...ROWS, row("output", 7, { id: "prc_long", tierMin: 1_000 })];
    const result = price({}, rows);
    expect(result.ok && result.value.lines.map((line) => line.price?.id)).toEqual(["prc_input", "prc_long"]);
  });

  test("reads the provider out of provider/model, at the first slash", () => {
    expect(modelOf({ model: "openrouter/openai/gpt-4o" })).toMatchObject({
      value: { provider: "openrouter", model: "openai/gpt-4o" },
    });
    expect(modelOf({ model: "gpt-4o" })).toMatchObject({ error: { errors: [{ pointer: "/provider" }] } });
  });

  test("takes a caller's clock that is a little fast, and no more", () => {
    expect(price({ occurred_at: new Date(NOW + 5 * 60_000).toISOString() }).ok).toBe(true);
    expect(refusal({ occurred_at: new Date(NOW + 5 * 60_000 + 1).toISOString() })).toEqual(["invalid", "/occurred_at"]);
  });

  test("refuses amounts that no cell holds, also as the event's sum", () => {
    const dear = (name: PriceRow["class"]) => row(name, 6_000_000);
    const usage = (input: number, output: number) => ({ usage: { input, output } });
    expect(refusal(usage(2 ** 52, 0), [dear("input")])).toEqual(["amount_overflow", "/usage"]);
    expect(refusal(usage(10 ** 15, 0), [dear("input"), dear("output")])).toBeNull();
    expect(refusal(usage(10 ** 15, 10 ** 15), [dear("input"), dear("output")])).toEqual(["amount_overflow", "/usage"]);
  });

  test("refuses reports that are larger than a report", () => {
    expect(refusal({ usage: { inputTokens: 1, note: "é".repeat(8_192) } })).toEqual(["invalid", "/usage"]);
  });

  test("hands on what is wrong with the usage", () => {
    expect(refusal({ usage: { inputTokens: -1 } })).toEqual(["invalid", "/usage/inputTokens"]);
  });

  test("costs the same call the same in whatever shape it is reported, of a stream or in one piece", () => {
    const rows = [...ROWS, row("cache_read", 1_250_000_000)];
    const reports = [
      { inputTokens: 1_000, inputTokenDetails: { cacheReadTokens: 400 }, outputTokens: 100, totalTokens: 1_100 },
      { prompt_tokens: 1_000, prompt_tokens_details: { cached_tokens: 400 }, completion_tokens: 100 },
      { input_tokens: 600, cache_read_input_tokens: 400, output_tokens: 100 },
      { promptTokenCount: 1_000, cachedContentTokenCount: 400, candidatesTokenCount: 100 },
      {
        ...{ "gen_ai.usage.input_tokens": 1_000, "gen_ai.usage.output_tokens": 100 },
        "gen_ai.usage.cache_read.input_tokens": 400,
      },
      { input: 600, cache_read: 400, output: 100 },
    ];
    for (const usage of reports)
      for (const status of ["final", "partial", "estimated"] as const)
        expect(priced({ usage, status }, rows).lines.map((line) => line.list_nano)).toEqual([1_500_000, 500_000, 1_000_000]);
  });

  test("costs nothing where a call that failed is reported with no tokens, and is not unpriced", () => {
    const failed = priced({ usage: { input_tokens: 0, output_tokens: 0 }, status: "partial" });
    expect([isUnpriced(failed), sumOf(failed.lines.map((line) => line.billed_nano))]).toEqual([false, 0]);
  });

  test("keeps what of a report does not add up, and bills no more than its totals", () => {
    const usage = { prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 150 }, completion_tokens: 0 };
    const { lines, inconsistent, input_tokens: input } = priced({ usage });
    expect([input, sumOf(lines.map((line) => line.quantity))]).toEqual([100, 100]);
    expect(inconsistent).toEqual(["prompt_tokens is 100, but its parts add up to 150"]);
    expect("inconsistent" in priced()).toBe(false);
  });
});

describe("what the provider says that a call cost", () => {
  const TRUST = { trust_provider_cost: true, markup_bps: 1_000 };
  const COST = { provider_cost: { amount: "0.0123", currency: "USD" as const } };
  const amounts = (lines: readonly UsageLine[]) =>
    lines.map((line) => [line.class, line.quantity, line.list_nano, line.billed_nano]);

  test("is kept, and counts neither beside a price nor where it is not trusted", () => {
    expect(priced(COST, ROWS, TRUST)).toMatchObject({ provider_cost_nano: 12_300_000, lines: priced({}, ROWS, TRUST).lines });
    expect(priced(COST, [])).toMatchObject({ provider_cost_nano: 12_300_000, lines: priced({}, []).lines });
    expect("provider_cost_nano" in priced({}, [], TRUST)).toBe(false);
    expect(isUnpriced(priced({}, [], TRUST))).toBe(true);
  });

  test("is the whole call's, with the markup, where one class has no price", () => {
    expect(amounts(priced(COST, ROWS.slice(0, 1), TRUST).lines)).toEqual([
      ["input", 1_000, 0, 0],
      ["output", 100, 0, 0],
      ["request", 0, 12_300_000, 13_530_000],
    ]);
    const counted = priced({ ...COST, usage: { input: 5, request: 2 } }, [], TRUST);
    expect(amounts(counted.lines)).toEqual([
      ["input", 5, 0, 0],
      ["request", 2, 12_300_000, 13_530_000],
    ]);
  });

  test("of zero is a price, and of too much with the markup is refused", () => {
    const free = priced({ provider_cost: { amount: "0", currency: "USD" } }, [], TRUST);
    expect([isUnpriced(free), sumOf(free.lines.map((line) => line.billed_nano))]).toEqual([false, 0]);
    const most = { provider_cost: { amount: "9007199.254740991", currency: "USD" as const } };
    expect(price(most, [], TRUST)).toMatchObject({ error: { code: "amount_overflow" } });
  });

  test("gives way to our own prices when the call is rated again, and stays while they are missing", () => {
    const byProvider = priced({ ...COST, usage: { input: 1_000, output: 100, request: 2 } }, [], TRUST).lines;
    const moment = { at: NOW, inputTokens: 1_000 };
    const again = (rows: readonly PriceRow[], cost: number | null) => rerate(byProvider, book(rows), moment, 1_000, cost);
    expect(again([], 12_300_000)).toEqual(byProvider);
    expect(amounts(again([...ROWS, row("request", 5_000_000)], 12_300_000) ?? [])).toEqual([
      ["input", 1_000, 2_500_000, 2_750_000],
      ["output", 100, 1_000_000, 1_100_000],
      ["request", 2, 10, 11],
    ]);
    const alone = priced(COST, [], TRUST).lines;
    expect(amounts(rerate(alone, book(ROWS), moment, 0, 12_300_000) ?? []).map(([name]) => name)).toEqual(["input", "output"]);
    expect(rerate([], book([]), moment, 0, 12_300_000)).toEqual([]);
  });
});

import { describe, expect, test } from "vitest";
import type { NewUsageEvent } from "@sessionplane/shared/usage-event";
import { priceUsage } from "./price-usage.ts";
import type { PriceRow } from "./resolve-price.ts";

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
const price = (changes: Partial<NewUsageEvent> = {}, rows: readonly PriceRow[] = ROWS, markupBps = 0) =>
  priceUsage(event(changes), IDENTITY, rows, markupBps, NOW);

const refusal = (changes: Partial<NewUsageEvent>, rows?: readonly PriceRow[]) => {
  const result = price(changes, rows);
  return result.ok ? null : [result.error.code, result.error.errors?.[0]?.pointer];
};

describe("priceUsage", () => {
  test("gives each class that was used a line with its price and cost", () => {
    expect(price({}, ROWS, 1_000)).toMatchObject({
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
    const { provider: _left, ...rest } = event({ model: "openrouter/openai/gpt-4o" });
    expect(priceUsage(rest, IDENTITY, [], 0, NOW)).toMatchObject({ value: { provider: "openrouter", model: "openai/gpt-4o" } });
    const { provider: _out, ...bare } = event();
    expect(priceUsage(bare, IDENTITY, [], 0, NOW)).toMatchObject({ error: { errors: [{ pointer: "/provider" }] } });
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
});

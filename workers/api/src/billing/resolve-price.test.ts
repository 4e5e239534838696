import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type PriceRow, effectiveTo, resolvePrice } from "./resolve-price.ts";

const row = (id: string, changes: Partial<PriceRow> = {}): PriceRow => ({
  ...{ id, tenantId: "", provider: "openai", model: "gpt-4o", class: "input", tierMin: 0, femtoUsdPerToken: 1 },
  ...{ effectiveFrom: 0, recordedAt: 0, source: "test" },
  ...changes,
});
const idAt = (rows: PriceRow[], at: number, inputTokens = 0, wanted: PriceRow["class"] = "input") =>
  resolvePrice(rows, wanted, { at, inputTokens })?.id ?? null;

describe("resolvePrice", () => {
  test("takes the newest price that was in force at the moment", () => {
    const rows = [row("new", { effectiveFrom: 100 }), row("old", { effectiveFrom: 10 })];
    expect([9, 10, 99, 100].map((at) => idAt(rows, at))).toEqual([null, "old", "old", "new"]);
    expect([rows[1], rows[0]].map((one) => one && effectiveTo(rows, one))).toEqual([100, null]);
  });

  test("takes a tenant's own price before the plane's, though it is older", () => {
    expect(idAt([row("plane", { effectiveFrom: 50 }), row("own", { tenantId: "ten_a" })], 60)).toBe("own");
  });

  test("prices the whole call by the highest tier that its input reaches", () => {
    const rows = [row("base"), row("long", { tierMin: 200_000 }), row("longer", { tierMin: 1_000_000 })];
    expect([0, 199_999, 200_000, 5_000_000].map((tokens) => idAt(rows, 1, tokens))).toEqual(["base", "base", "long", "longer"]);
  });

  test("lets a class's own price go before another tenant-owned class that stands in", () => {
    const rows = [row("out", { class: "output", tenantId: "ten_a" }), row("own", { class: "reasoning" })];
    expect(idAt(rows, 1, 0, "reasoning")).toBe("own");
    expect(idAt(rows.slice(0, 1), 1, 0, "reasoning")).toBe("out");
  });

  test("has no price where none is known: never zero", () => {
    expect(idAt([row("a", { class: "output" })], 1)).toBeNull();
    expect(idAt([row("a")], 1, 0, "cache_write_1h")).toBeNull();
  });

  test("takes a price of zero as a price", () => expect(idAt([row("free", { femtoUsdPerToken: 0 })], 1)).toBe("free"));

  test("finds what a search through all rows finds, in any order of them", () => {
    const rows = fc.uniqueArray(fc.tuple(fc.boolean(), fc.nat(3), fc.nat(20)), { selector: String, maxLength: 12 });
    fc.assert(
      fc.property(rows, fc.nat(25), fc.nat(4), (keys, at, inputTokens) => {
        const all = keys.map(([own, tierMin, effectiveFrom]) =>
          row(`${own} ${tierMin} ${effectiveFrom}`, { tenantId: own ? "ten_a" : "", tierMin, effectiveFrom }),
        );
        const found = resolvePrice(all, "input", { at, inputTokens });
        const holding = all.filter((one) => one.effectiveFrom <= at && one.tierMin <= inputTokens);
        expect(found === null).toBe(holding.length === 0);
        if (found === null) return;
        const ofOwner = holding.filter((one) => one.tenantId === (holding.some((each) => each.tenantId !== "") ? "ten_a" : ""));
        const tier = Math.max(...ofOwner.map((one) => one.tierMin));
        const newest = Math.max(...ofOwner.filter((one) => one.tierMin === tier).map((one) => one.effectiveFrom));
        expect([found.tierMin, found.effectiveFrom]).toEqual([tier, newest]);
        expect(effectiveTo(all, found) ?? Infinity).toBeGreaterThan(at);
      }),
    );
  });
});

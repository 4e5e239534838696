import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AliasRow, type PriceRow, effectiveTo, pricesAt, resolvePrice } from "./resolve-price.ts";

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

describe("pricesAt", () => {
  const alias = (id: string, target: string | null, changes: Partial<AliasRow> = {}): AliasRow => ({
    ...{ id, tenantId: "", provider: "azure", model: "deployment" },
    ...{ targetProvider: target === null ? null : "openai", targetModel: target, effectiveFrom: 0, recordedAt: 0 },
    ...changes,
  });
  const found = (rows: PriceRow[], aliases: AliasRow[], at = 100, wanted: PriceRow["class"] = "input") => {
    const used = pricesAt({ provider: "azure", model: "deployment", rows, aliases }, at);
    return [resolvePrice(used.rows, wanted, { at, inputTokens: 0 })?.id ?? null, used.alias?.id ?? null];
  };
  const own = (id: string, changes: Partial<PriceRow> = {}) => row(id, { provider: "azure", model: "deployment", ...changes });

  test("takes the model's own prices alone where one of them is in force, of any class", () => {
    expect(found([own("own"), row("target")], [alias("a", "gpt-4o")])).toEqual(["own", null]);
    expect(found([own("own", { class: "output" }), row("target")], [alias("a", "gpt-4o")])).toEqual([null, null]);
    expect(found([own("plane"), own("tenant", { tenantId: "ten_a" }), row("target")], [alias("a", "gpt-4o")])).toEqual([
      "tenant",
      null,
    ]);
  });

  test("takes the target's where the model had none at that moment, though it has one later", () => {
    const rows = [own("later", { effectiveFrom: 101 }), row("target")];
    expect([100, 101].map((at) => found(rows, [alias("a", "gpt-4o")], at)[0])).toEqual(["target", "later"]);
  });

  test("takes the tenant's price of the target before the plane's, in force at the moment", () => {
    const rows = [row("plane"), row("tenant", { tenantId: "ten_a", effectiveFrom: 50 })];
    expect([49, 50].map((at) => found(rows, [alias("a", "gpt-4o")], at)[0])).toEqual(["plane", "tenant"]);
  });

  test("takes the tenant's alias before the plane's, then the newest in force", () => {
    const rows = [row("4o"), row("mini", { model: "gpt-4o-mini" })];
    const aliases = [
      ...[alias("old", "gpt-4o"), alias("new", "gpt-4o-mini", { effectiveFrom: 50 })],
      alias("tenant", "gpt-4o", { tenantId: "ten_a", effectiveFrom: 70 }),
    ];
    expect([49, 50, 70].map((at) => found(rows, aliases, at))).toEqual([
      ["4o", "old"],
      ["mini", "new"],
      ["4o", "tenant"],
    ]);
  });

  test("ends with an alias of nothing, a tenant's own beside the plane's too", () => {
    const aliases = [alias("a", "gpt-4o"), alias("end", null, { effectiveFrom: 50 })];
    expect([49, 50].map((at) => found([row("target")], aliases, at))).toEqual([
      ["target", "a"],
      [null, null],
    ]);
    const apart = [alias("a", "gpt-4o"), alias("none", null, { tenantId: "ten_a" })];
    expect(found([row("target")], apart)).toEqual([null, null]);
  });

  test("goes one step: an alias of the target is not followed", () => {
    const chain = alias("b", "gpt-4o", { model: "middle", provider: "openai" });
    expect(found([row("target")], [alias("a", "middle"), chain])).toEqual([null, "a"]);
  });
});

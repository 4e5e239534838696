import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyMarkup, costNano, formatMoney, formatUsdPerMillion, parseAmount, parseMoney, parseUsdPerMillion } from "./money.ts";

const abs = (value: bigint): bigint => (value < 0n ? -value : value);
const quantity = fc.nat(2 ** 31 - 1);
const price = fc.integer({ min: 0, max: 10 ** 12 });

describe("costNano", () => {
  test.each([
    [1_000, "2.5", 2_500_000],
    [100, "10", 1_000_000],
    [1, "0.0005", 0],
    [3, "0.0005", 2],
    [5, "0.0005", 2],
    [7, "0.0005", 4],
    [5, "0", 0],
  ])("prices %i tokens at %s USD a million as %i nano-USD", (tokens, usd, nano) => {
    expect(costNano(tokens, parseUsdPerMillion(usd) ?? -1)).toBe(nano);
  });

  test("is off by half a nano-USD at most", () => {
    fc.assert(
      fc.property(quantity, price, (tokens, femto) => {
        const nano = costNano(tokens, femto);
        if (nano === null) expect(BigInt(tokens) * BigInt(femto)).toBeGreaterThan(2n ** 53n * 1_000_000n - 1_000_000n);
        else expect(abs(BigInt(tokens) * BigInt(femto) - BigInt(nano) * 1_000_000n)).toBeLessThanOrEqual(500_000n);
      }),
    );
  });

  test("rounds a half to the even neighbour", () => {
    fc.assert(
      fc.property(fc.nat(2 ** 30), (whole) => costNano(1, whole * 1_000_000 + 500_000) === whole + (whole % 2)),
      {
        numRuns: 50,
      },
    );
  });

  test("is null past what a cell holds", () => {
    expect(costNano(Number.MAX_SAFE_INTEGER, 1_000_000)).toBe(Number.MAX_SAFE_INTEGER);
    expect(costNano(Number.MAX_SAFE_INTEGER, 1_000_001)).toBeNull();
  });
});

describe("applyMarkup", () => {
  test.each([
    [1_000, 0, 1_000],
    [1_000, 1_000, 1_100],
    [1_000, -10_000, 0],
    [5, 1_000, 6],
    [15, 1_000, 16],
    [25, 1_000, 28],
  ])("makes %i at %i basis points %i", (nano, bps, billed) => expect(applyMarkup(nano, bps)).toBe(billed));

  test("is null past what a cell holds", () => expect(applyMarkup(Number.MAX_SAFE_INTEGER, 1)).toBeNull());
});

describe("prices as text", () => {
  test.each(["-1", "1e3", "1.", ".5", "1.0000000001", "NaN", "", " 1", "1,5", "99999999"])("refuse %j", (text) =>
    expect(parseUsdPerMillion(text)).toBeNull(),
  );

  test("come back as they went in", () => {
    fc.assert(fc.property(fc.nat(Number.MAX_SAFE_INTEGER), (femto) => parseUsdPerMillion(formatUsdPerMillion(femto)) === femto));
    expect(["0", "10", "0.15", "100", "0.000000001"].map((text) => formatUsdPerMillion(parseUsdPerMillion(text) ?? -1))).toEqual([
      "0",
      "10",
      "0.15",
      "100",
      "0.000000001",
    ]);
  });
});

describe("amounts as text", () => {
  test("come back as they went in, below zero and past 2^53 too", () => {
    fc.assert(fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (nano) => parseMoney(formatMoney(nano)) === nano));
  });

  test.each(["-0.01", "1e-3", "0.0000000001", "9007199.254740992", "", ".5", "1 "])("are refused as %j", (text) =>
    expect(parseAmount(text)).toBeNull(),
  );

  test("are read as they are shown", () => {
    fc.assert(fc.property(fc.nat(Number.MAX_SAFE_INTEGER), (nano) => parseAmount(formatMoney(nano).amount) === nano));
    expect(["0", "0.0123", "12"].map(parseAmount)).toEqual([0, 12_300_000, 12_000_000_000]);
  });

  test("have nine places", () => expect(formatMoney(75_750_000)).toEqual({ amount: "0.075750000", currency: "USD" }));
});

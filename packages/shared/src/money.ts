/**
 * Money. Prices are integers of femto-USD (1e-15) per token, amounts integers of nano-USD (1e-9); people
 * see decimal strings. The only place that multiplies a price. BigInt inside: no float touches an amount.
 */
import * as z from "zod";

const FEMTO_PER_NANO = 1_000_000n;
/** 1 USD per million tokens is 1e-6 USD per token: 1e9 femto-USD. */
const FEMTO_PER_USD_PER_MILLION = 1_000_000_000n;
const NANO_PER_USD = 1_000_000_000n;
const PRICE_DECIMALS = 9;
const AMOUNT_DECIMALS = 9;
const MAX_AMOUNT = "9007199.254740991";

/** The largest amount or price that one cell holds exactly: about 9 million USD. */
export const MAX_CELL = BigInt(Number.MAX_SAFE_INTEGER);

export const moneySchema = z
  .object({ amount: z.string().meta({ description: "Decimal, major units, 9 places" }), currency: z.literal("USD") })
  .meta({ id: "Money", example: { amount: "0.075750000", currency: "USD" } });
export type Money = z.infer<typeof moneySchema>;

/** Rounds a non-negative quotient half to even. */
function divideHalfEven(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  const twice = (dividend % divisor) * 2n;
  if (twice < divisor) return quotient;
  if (twice > divisor) return quotient + 1n;
  return quotient % 2n === 0n ? quotient : quotient + 1n;
}

/** `quantity` tokens at a price, in nano-USD, rounded once. Null when it passes what a cell holds. */
export function costNano(quantity: number, femtoPerToken: number): number | null {
  const nano = divideHalfEven(BigInt(quantity) * BigInt(femtoPerToken), FEMTO_PER_NANO);
  return nano > MAX_CELL ? null : Number(nano);
}

/** A list amount after the tenant's markup in basis points (100 is 1 %; negative is a discount). */
export function applyMarkup(nano: number, markupBps: number): number | null {
  const marked = divideHalfEven(BigInt(nano) * BigInt(10_000 + markupBps), 10_000n);
  return marked > MAX_CELL ? null : Number(marked);
}

/** Decimals of at most 9 digits and 9 places. */
const DECIMAL = /^(\d{1,9})(?:\.(\d{1,9}))?$/;

/** `"0.0123"` USD as nano-USD; null when it is not such a decimal, or more than a cell holds. */
export function parseAmount(text: string): number | null {
  const match = DECIMAL.exec(text);
  if (!match) return null;
  const nano = BigInt(`${match[1]}${(match[2] ?? "").padEnd(AMOUNT_DECIMALS, "0")}`);
  return nano > MAX_CELL ? null : Number(nano);
}

/** An amount as callers write it. */
export const newMoneySchema = z
  .strictObject({
    amount: z
      .string()
      .refine((text) => parseAmount(text) !== null, {
        message: `must be a decimal from 0 to ${MAX_AMOUNT} with at most ${AMOUNT_DECIMALS} places`,
      })
      .meta({ example: "0.0123" }),
    currency: z.literal("USD", { message: "only USD is supported" }),
  })
  .meta({ id: "NewMoney" });

/** `"0.15"` USD per million tokens as femto-USD per token; null when it is not such a decimal. */
export function parseUsdPerMillion(text: string): number | null {
  const match = DECIMAL.exec(text);
  if (!match) return null;
  const scaled = BigInt(`${match[1]}${(match[2] ?? "").padEnd(PRICE_DECIMALS, "0")}`);
  const femto = (scaled * FEMTO_PER_USD_PER_MILLION) / 10n ** BigInt(PRICE_DECIMALS);
  return femto > MAX_CELL ? null : Number(femto);
}

function formatScaled(value: bigint, decimals: number): string {
  const sign = value < 0n ? "-" : "";
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, "0");
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

const FEMTO_DECIMALS = 15;

/** What a quantity costs exactly, and what rounding to `nano` has added: decimals in USD. A sum read as text may pass 2^53. */
export function exactProduct(
  quantity: number,
  femtoPerToken: number,
  nano: number | string,
): { product: string; rounding: string } {
  const femto = BigInt(quantity) * BigInt(femtoPerToken);
  return {
    product: formatScaled(femto, FEMTO_DECIMALS),
    rounding: formatScaled(BigInt(nano) * FEMTO_PER_NANO - femto, FEMTO_DECIMALS),
  };
}

/** Femto-USD per token as people write prices: USD per million tokens, without trailing zeros. */
export const formatUsdPerMillion = (femtoPerToken: number): string =>
  formatScaled(BigInt(femtoPerToken), PRICE_DECIMALS).replace(/\.?0+$/, "") || "0";

/** Nano-USD as a `Money`. Takes text too: a sum read as text may pass 2^53. */
export const formatMoney = (nano: number | bigint | string): Money => ({
  amount: formatScaled(BigInt(nano), AMOUNT_DECIMALS),
  currency: "USD",
});

/** The inverse of `formatMoney`: sums of what replies say. */
export const parseMoney = (money: Money): bigint => {
  const [whole = "0", fraction = ""] = money.amount.replace("-", "").split(".");
  const nano = BigInt(whole) * NANO_PER_USD + BigInt(fraction.padEnd(AMOUNT_DECIMALS, "0"));
  return money.amount.startsWith("-") ? -nano : nano;
};

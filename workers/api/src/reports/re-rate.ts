/**
 * Calls of a range by the prices that are known now: what would be another amount, and the corrections that make
 * it so. Prices hold at the moment of the call; one that was added later for that moment is what changes.
 */
import type { SessionId, TenantId } from "@sessionplane/shared/ids";
import { formatMoney } from "@sessionplane/shared/money";
import { isUnpriced, linesNow, sumOf } from "@sessionplane/shared/priced-usage";
import type { ReRating } from "@sessionplane/shared/price";
import type { UsageLine } from "@sessionplane/shared/usage-event";
import type { CatalogDb } from "../catalog/db.ts";
import { findTenant } from "../catalog/tenants.ts";
import { type EventRow, adjustmentsOf, placeOf } from "../catalog/usage-events.ts";
import { rowsFor } from "../billing/price-book.ts";
import { rerate } from "../billing/price-usage.ts";

export type Rerated = {
  readonly tenantId: TenantId;
  readonly sessionId: SessionId;
  readonly row: EventRow;
  readonly before: readonly UsageLine[];
  readonly after: UsageLine[];
  readonly tokens: { readonly input: number; readonly output: number };
};

type Ids = { readonly tenantId: TenantId; readonly sessionId: SessionId };

/** Each call as it is and as it would be. `idsOf`: null for what are no ids, which never happens to our own rows. */
export async function rerateAll(
  db: CatalogDb,
  rows: readonly EventRow[],
  idsOf: (row: EventRow) => Ids | null,
): Promise<Rerated[]> {
  const corrections = await adjustmentsOf(db, rows);
  const markups = new Map<string, number>();
  const all: Rerated[] = [];
  for (const row of rows) {
    const ids = idsOf(row);
    if (ids === null) continue;
    const adjustments = (corrections.get(placeOf(row)) ?? []).map(({ event }) => event);
    const told = [row.event, ...adjustments];
    const tokens = {
      input: sumOf(told.map((event) => event.input_tokens)),
      output: sumOf(told.map((event) => event.output_tokens)),
    };
    let markup = row.event.markup_bps ?? markups.get(row.tenantId);
    if (markup === undefined) {
      markup = (await findTenant(db, ids.tenantId))?.settings.markup_bps ?? 0;
      markups.set(row.tenantId, markup);
    }
    const prices = await rowsFor(db, ids.tenantId, row);
    const before = linesNow(row.event, adjustments);
    const after = rerate(before, prices, { at: row.occurredAt, inputTokens: tokens.input }, markup);
    // What no cell holds stays as it is.
    if (after !== null) all.push({ ...ids, row, before, after, tokens });
  }
  return all;
}

/** Amounts and prices: the same price under another id is no change. */
const amountsOf = (lines: readonly UsageLine[]): string =>
  JSON.stringify(lines.map((line) => [line.class, line.quantity, line.list_nano, line.billed_nano]));

export const isChanged = ({ before, after }: Rerated): boolean => amountsOf(before) !== amountsOf(after);

const total = (lines: readonly (readonly UsageLine[])[], amount: "list_nano" | "billed_nano") =>
  formatMoney(lines.flat().reduce((sum, line) => sum + BigInt(line[amount] ?? 0), 0n));

/** What changes, all in all and by model. */
export function diffOf(all: readonly Rerated[]): Pick<ReRating, "events" | "changed" | "before" | "after" | "models"> {
  const changed = all.filter(isChanged);
  const sums = (of: "before" | "after") => ({
    list: total(
      all.map((one) => one[of]),
      "list_nano",
    ),
    billed: total(
      all.map((one) => one[of]),
      "billed_nano",
    ),
    unpriced_events: all.filter((one) => isUnpriced({ lines: one[of] })).length,
  });
  const byModel = Map.groupBy(changed, ({ row }) => JSON.stringify([row.provider, row.model]));
  const models = [...byModel.values()].map((ofModel) => ({
    provider: ofModel[0]?.row.provider ?? "",
    model: ofModel[0]?.row.model ?? "",
    changed: ofModel.length,
    list_before: total(
      ofModel.map(({ before }) => before),
      "list_nano",
    ),
    list_after: total(
      ofModel.map(({ after }) => after),
      "list_nano",
    ),
  }));
  return { events: all.length, changed: changed.length, before: sums("before"), after: sums("after"), models };
}

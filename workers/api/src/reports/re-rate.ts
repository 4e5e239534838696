/**
 * Calls of a range by the prices that are known now: what would be another amount, and the corrections that make
 * it so. Prices hold at the moment of the call; one that was added later for that moment is what changes.
 */
import type { SessionId, TenantId } from "@sessionplane/shared/ids";
import { formatMoney } from "@sessionplane/shared/money";
import { inconsistentNow, isByProvider, isUnpriced, linesNow, sumOf } from "@sessionplane/shared/priced-usage";
import type { ReRating } from "@sessionplane/shared/price";
import { DEFAULT_TENANT_SETTINGS, type TenantSettings } from "@sessionplane/shared/tenant";
import type { PricedUsage, UsageLine } from "@sessionplane/shared/usage-event";
import type { CatalogDb } from "../catalog/db.ts";
import { findTenant } from "../catalog/tenants.ts";
import { type EventRow, adjustmentsOf, placeOf } from "../catalog/usage-events.ts";
import { pricesFor } from "../billing/price-book.ts";
import { rerate } from "../billing/price-usage.ts";

export type Rerated = {
  readonly tenantId: TenantId;
  readonly sessionId: SessionId;
  readonly row: EventRow;
  readonly before: readonly UsageLine[];
  readonly after: UsageLine[];
  readonly tokens: { readonly input: number; readonly output: number };
  /** Corrections that are in it already. */
  readonly corrections: number;
  /** What of the report that holds does not add up. */
  readonly inconsistent: readonly string[];
};

type Ids = { readonly tenantId: TenantId; readonly sessionId: SessionId };

/** The settings of each tenant, read once. */
function settingsReader(db: CatalogDb): (id: TenantId) => Promise<TenantSettings> {
  const known = new Map<TenantId, Promise<TenantSettings>>();
  const read = async (id: TenantId) => (await findTenant(db, id))?.settings ?? DEFAULT_TENANT_SETTINGS;
  return (id) => {
    const settings = known.get(id) ?? read(id);
    known.set(id, settings);
    return settings;
  };
}

/** What counts where a price is missing: what did so before, and what does by the tenant's settings now. */
const providerCostOf = (event: PricedUsage, before: readonly UsageLine[], settings: TenantSettings): number | null =>
  settings.trust_provider_cost || isByProvider({ lines: before }) ? (event.provider_cost_nano ?? null) : null;

/** Each call as it is and as it would be. `idsOf`: null for what are no ids, which never happens to our own rows. */
export async function rerateAll(
  db: CatalogDb,
  rows: readonly EventRow[],
  idsOf: (row: EventRow) => Ids | null,
): Promise<Rerated[]> {
  const corrections = await adjustmentsOf(db, rows);
  const settingsOf = settingsReader(db);
  const all: Rerated[] = [];
  for (const row of rows) {
    const ids = idsOf(row);
    if (ids === null) continue;
    const { event } = row;
    const adjustments = (corrections.get(placeOf(row)) ?? []).map((one) => one.event);
    const told = [event, ...adjustments];
    const tokens = {
      input: sumOf(told.map((one) => one.input_tokens)),
      output: sumOf(told.map((one) => one.output_tokens)),
    };
    const settings = await settingsOf(ids.tenantId);
    const prices = await pricesFor(db, ids.tenantId, row);
    const before = linesNow(event, adjustments);
    const moment = { at: row.occurredAt, inputTokens: tokens.input };
    const markup = event.markup_bps ?? settings.markup_bps;
    const after = rerate(before, prices, moment, markup, providerCostOf(event, before, settings));
    // What no cell holds stays as it is.
    if (after === null) continue;
    const known = { corrections: adjustments.length, inconsistent: inconsistentNow(event, adjustments) };
    all.push({ ...ids, row, before, after, tokens, ...known });
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

/** Old quarters of an hour become days: one step of it. */
import type { TenantId } from "@sessionplane/shared/ids";
import { connect } from "../catalog/db.ts";
import { daysWithin, firstQuarter, foldIntoDays } from "../catalog/usage-days.ts";
import { besideDays, wholeDays } from "./days.ts";

export type Folding = { readonly tenantId: TenantId; readonly timeZone: string; readonly before: number };

export async function foldQuarters(
  catalog: D1Database,
  { tenantId, timeZone, before }: Folding,
): Promise<{ quarters: number; more: boolean }> {
  const db = connect(catalog);
  const first = await firstQuarter(db, tenantId);
  if (first === null || first >= before) return { quarters: 0, more: false };
  const days = wholeDays(first, before, timeZone);
  const [begin, end] = [days[0]?.start ?? first, days.at(-1)?.end ?? before];
  const kept = await daysWithin(db, tenantId, begin, end);
  const quarters = await foldIntoDays(catalog, tenantId, besideDays(days, kept, first, before));
  return { quarters, more: quarters > 0 };
}

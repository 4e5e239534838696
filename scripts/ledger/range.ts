/** Days as whoever asks means them: of a time zone, which is the tenant's own when none is named. */
import type { TenantSettings } from "@sessionplane/shared/tenant";
import { Zone } from "../../workers/api/src/reports/zone.ts";
import { stopWith } from "../options.ts";
import { ask } from "./ask.ts";

export type Named = {
  readonly zone?: string | undefined;
  readonly tenant?: string | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
};

/** Whose days are meant: the one that is named, else the tenant's own, in which its old usage is kept. */
async function zoneOf(values: Named): Promise<string> {
  if (values.zone !== undefined) return values.zone;
  if (values.tenant === undefined) return "UTC";
  const { settings } = await ask<{ settings: TenantSettings }>(`/v1/tenants/${encodeURIComponent(values.tenant)}`);
  return settings.billing_timezone;
}

function zoneNamed(name: string): Zone {
  try {
    return new Zone(name);
  } catch {
    return stopWith(`${name} is no time zone.`);
  }
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** A day begins at its midnight in the zone. */
function instant(given: string, zone: Zone): Date {
  const read = new Date(given);
  if (Number.isNaN(read.getTime())) return stopWith(`${given} is no day and no instant.`);
  return DAY.test(given) ? new Date(zone.instantOf(read.getTime())) : read;
}

/** The start of a month of the zone: so many after this one. */
function month(after: number, zone: Zone): Date {
  const wall = new Date(zone.wallAt(Date.now()));
  return new Date(zone.instantOf(Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth() + after, 1)));
}

export type Asked = { readonly start: Date; readonly end: Date; readonly zone: string };

export async function askedRange(values: Named): Promise<Asked> {
  const name = await zoneOf(values);
  const zone = zoneNamed(name);
  const [start, end] = [values.start, values.end].map((given, after) =>
    given === undefined ? month(after, zone) : instant(given, zone),
  );
  if (start === undefined || end === undefined) throw new Error("a range has two ends");
  return { start, end, zone: name };
}

/** One instant, as a range's ends are read. */
export const askedInstant = async (given: string, values: Named): Promise<Date> =>
  instant(given, zoneNamed(await zoneOf(values)));

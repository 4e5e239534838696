/** A range cut into buckets of a time zone, daylight saving included. Pure. */
import type { Bucket } from "@sessionplane/shared/report";

/** Half-open, epoch milliseconds. */
export type Interval = { readonly start: number; readonly end: number };

const MINUTE = 60_000;
const QUARTER = 15 * MINUTE;

type Local = { readonly year: number; readonly month: number; readonly day: number; readonly hour: number; readonly minute: number };

/** The zone's wall clock. A formatter is expensive to make and is kept for a run. */
class Zone {
  readonly #format: Intl.DateTimeFormat;

  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
  }

  at(instant: number): Local {
    const parts = Object.fromEntries(this.#format.formatToParts(instant).map((part) => [part.type, Number(part.value)]));
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = parts;
    return { year, month, day, hour, minute };
  }

  offset(instant: number): number {
    const { year, month, day, hour, minute } = this.at(instant);
    return Date.UTC(year, month - 1, day, hour, minute) - Math.floor(instant / MINUTE) * MINUTE;
  }

  /** The first instant whose wall clock has reached this date's midnight. */
  midnight(year: number, month: number, day: number): number {
    const wall = Date.UTC(year, month - 1, day);
    // Two offsets can claim it around a change; the earlier instant that is not before midnight is right.
    const candidates = [this.offset(wall - 24 * 60 * MINUTE), this.offset(wall + 24 * 60 * MINUTE)].map((offset) => wall - offset);
    const reached = candidates.filter((instant) => instant + this.offset(instant) >= wall);
    return reached.length === 0 ? Math.max(...candidates) : Math.min(...reached);
  }
}

/** The end of the bucket that holds `instant`. */
function nextBoundary(zone: Zone, instant: number, bucket: Bucket): number {
  if (bucket === "15m") return Math.floor(instant / QUARTER) * QUARTER + QUARTER;
  const { year, month, day } = zone.at(instant);
  if (bucket === "month") return zone.midnight(year, month + 1, 1);
  if (bucket === "day") return zone.midnight(year, month, day + 1);
  // Offsets are multiples of a quarter: the next full hour of the wall clock is a few quarters away.
  let next = Math.floor(instant / QUARTER) * QUARTER + QUARTER;
  while (zone.at(next).minute !== 0) next += QUARTER;
  return next;
}

/** The range's buckets in order, without gaps; the first and last may be cut by the range. Null past `max`. */
export function bucketsOf(range: Interval, bucket: Bucket, timeZone: string, max: number): Interval[] | null {
  const zone = new Zone(timeZone);
  const buckets: Interval[] = [];
  for (let start = range.start; start < range.end; ) {
    if (buckets.length === max) return null;
    const end = Math.min(nextBoundary(zone, start, bucket), range.end);
    buckets.push({ start, end });
    start = end;
  }
  return buckets;
}

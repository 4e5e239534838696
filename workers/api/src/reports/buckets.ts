/** A range cut into buckets of a time zone, daylight saving included. Pure. */
import { type Bucket, type Interval, QUARTER_MS } from "@sessionplane/shared/report";
import { Zone } from "./zone.ts";

const HOUR_MS = 60 * 60 * 1_000;
const DAY_MS = 24 * HOUR_MS;

/** The wall time at which the calendar unit after the one of `wall` begins. */
function nextWall(wall: number, unit: "day" | "month"): number {
  if (unit === "day") return (Math.floor(wall / DAY_MS) + 1) * DAY_MS;
  const date = new Date(wall);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** The end of the bucket that holds `instant`: always after it. */
function nextBoundary(zone: Zone, instant: number, bucket: Bucket): number {
  if (bucket === "15m") return (Math.floor(instant / QUARTER_MS) + 1) * QUARTER_MS;
  if (bucket === "hour") {
    // An hour that the clock shows twice is two buckets: each is an hour of time.
    const offset = zone.offsetAt(instant);
    return (Math.floor((instant + offset) / HOUR_MS) + 1) * HOUR_MS - offset;
  }
  let wall = zone.wallAt(instant);
  let end = instant;
  // Where the clock goes back over midnight, the next day has begun once already: that piece belongs to it.
  while (end <= instant) {
    wall = nextWall(wall, bucket);
    end = zone.instantOf(wall);
  }
  return end;
}

/** The range's buckets in order, without gaps; the first and last may be cut by the range. Null past `max`. */
export function bucketsOf(range: Interval, bucket: Bucket, timeZone: string, max: number): Interval[] | null {
  const zone = new Zone(timeZone);
  const buckets: Interval[] = [];
  for (let start = range.start; start < range.end;) {
    if (buckets.length === max) return null;
    const end = Math.min(nextBoundary(zone, start, bucket), range.end);
    buckets.push({ start, end });
    start = end;
  }
  return buckets;
}

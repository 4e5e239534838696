/**
 * A time zone's wall clock, daylight saving and skipped days included. Pure, on `Intl` alone. A wall time is
 * epoch milliseconds as if the clock on the wall showed UTC.
 */
const SECOND_MS = 1_000;
const HOUR_MS = 60 * 60 * 1_000;
/** Zones lie within 14 hours of UTC, and no change of one is larger than a day: both its sides are within this. */
const REACH_MS = 40 * HOUR_MS;

export class Zone {
  readonly #format: Intl.DateTimeFormat;

  /** A formatter is expensive to make: a zone is kept for a run. */
  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "iso8601",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  /** What the clock on the wall shows at an instant, to the second. */
  wallAt(instant: number): number {
    const parts = new Map(this.#format.formatToParts(instant).map((part) => [part.type, Number(part.value)]));
    const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
    return Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
  }

  /** What is added to UTC. Zones of old have offsets of odd seconds. */
  offsetAt(instant: number): number {
    return this.wallAt(instant) - Math.floor(instant / SECOND_MS) * SECOND_MS;
  }

  /** The first instant at which the wall clock shows this time, or has jumped over it. */
  instantOf(wall: number): number {
    const before = this.offsetAt(wall - REACH_MS);
    const after = this.offsetAt(wall + REACH_MS);
    const early = wall - Math.max(before, after);
    const late = wall - Math.min(before, after);
    if (this.wallAt(early) === wall) return early;
    return this.wallAt(late) === wall ? late : this.#changeIn(early, late);
  }

  /** The instant within `(from, to]` at which the offset changes. */
  #changeIn(from: number, to: number): number {
    const offset = this.offsetAt(from);
    let [same, changed] = [from, to];
    while (changed - same > SECOND_MS) {
      const middle = Math.floor((same + changed) / 2 / SECOND_MS) * SECOND_MS;
      if (this.offsetAt(middle) === offset) same = middle;
      else changed = middle;
    }
    return changed;
  }
}

/** Days of a zone whose quarters of an hour are summed up. Pure. */
import type { Interval } from "@sessionplane/shared/report";
import { bucketsOf } from "../reports/buckets.ts";
import { QUARTER_MS } from "@sessionplane/shared/report";

const DAY_MS = 86_400_000;
/** A day that was begun is cut by the range: from two days before, the one that holds an instant is whole. */
const MARGIN_MS = 2 * DAY_MS;
/** So many at once. */
export const MAX_DAYS = 366;

const floorToQuarter = (instant: number): number => Math.floor(instant / QUARTER_MS) * QUARTER_MS;

/**
 * Whole days from the one that holds `first` on, that end at or before `before`: in order, without a gap, cut at
 * quarters of an hour. At most `MAX_DAYS`.
 */
export function wholeDays(first: number, before: number, timeZone: string): Interval[] {
  const end = Math.min(before, first + (MAX_DAYS + 2) * DAY_MS);
  if (end <= first) return [];
  // The last is cut by the end, unless it ends there.
  const days = bucketsOf({ start: first - MARGIN_MS, end: end + MARGIN_MS }, "day", timeZone, Infinity) ?? [];
  return days
    .map((day) => ({ start: floorToQuarter(day.start), end: floorToQuarter(day.end) }))
    .slice(1)
    .filter((day) => day.end > first && day.end <= end)
    .slice(0, MAX_DAYS);
}

/**
 * The days without what days that are kept hold, and these among them: what comes late joins the day that holds its
 * moment, and a tenant's new time zone begins where the days of its old one end. In order, without a gap; only what
 * ends after `first`, and at or before `before`.
 */
export function besideDays(days: readonly Interval[], kept: readonly Interval[], first: number, before: number): Interval[] {
  const begin = Math.min(days[0]?.start ?? Infinity, kept[0]?.start ?? Infinity);
  const pieces: Interval[] = [];
  let place = begin;
  const addDays = (until: number): void => {
    for (const { start, end } of days) {
      const piece = { start: Math.max(start, place), end: Math.min(end, until) };
      if (piece.start < piece.end) pieces.push(piece);
    }
  };
  for (const day of kept) {
    if (day.start < place) continue;
    addDays(day.start);
    pieces.push(day);
    place = day.end;
  }
  addDays(Infinity);
  const wanted = pieces.filter(({ end }) => end > first);
  const last = wanted.findIndex(({ start, end }, index) => end > before || start !== (wanted[index - 1]?.end ?? start));
  return last === -1 ? wanted : wanted.slice(0, last);
}

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bucketSchema } from "@sessionplane/shared/report";
import { bucketsOf } from "./buckets.ts";

const at = (text: string) => Date.parse(text);
const range = (start: string, end: string) => ({ start: at(start), end: at(end) });
const starts = (buckets: ReturnType<typeof bucketsOf>) => buckets?.map(({ start }) => new Date(start).toISOString().slice(0, 16));
const hours = (buckets: ReturnType<typeof bucketsOf>) => buckets?.map(({ start, end }) => (end - start) / 3_600_000);

describe("bucketsOf", () => {
  test("cuts days at the zone's midnight", () => {
    const days = bucketsOf(range("2026-01-01T00:00:00Z", "2026-01-02T12:00:00Z"), "day", "Asia/Kathmandu", 10);
    expect(starts(days)).toEqual(["2026-01-01T00:00", "2026-01-01T18:15"]);
  });

  test("gives the days of a change of clocks 23 and 25 hours", () => {
    expect(hours(bucketsOf(range("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"), "day", "Europe/Prague", 10))).toEqual([23]);
    expect(hours(bucketsOf(range("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"), "day", "Europe/Prague", 10))).toEqual([25]);
  });

  test("begins a day at the change where its midnight does not exist", () => {
    const days = bucketsOf(range("2018-11-03T03:00:00Z", "2018-11-05T02:00:00Z"), "day", "America/Sao_Paulo", 10);
    expect(starts(days)).toEqual(["2018-11-03T03:00", "2018-11-04T03:00"]);
  });

  test("skips a day that a zone skipped", () => {
    const days = bucketsOf(range("2011-12-29T10:00:00Z", "2011-12-31T10:00:00Z"), "day", "Pacific/Apia", 10);
    expect(starts(days)).toEqual(["2011-12-29T10:00", "2011-12-30T10:00"]);
  });

  test("goes on where the clock goes back over midnight", () => {
    const days = bucketsOf(range("2010-11-07T03:00:00Z", "2010-11-09T00:00:00Z"), "day", "America/St_Johns", 10);
    expect(starts(days)).toEqual(["2010-11-07T03:00", "2010-11-08T03:30"]);
  });

  test("aligns hours with a zone of three quarters", () => {
    const cut = bucketsOf(range("2026-01-01T00:00:00Z", "2026-01-01T02:00:00Z"), "hour", "Asia/Kathmandu", 10);
    expect(starts(cut)).toEqual(["2026-01-01T00:00", "2026-01-01T00:15", "2026-01-01T01:15"]);
  });

  test("ends in a zone whose offset has odd seconds", () => {
    expect(bucketsOf(range("1971-01-01T00:00:00Z", "1971-01-01T03:00:00Z"), "hour", "Africa/Monrovia", 10)).toHaveLength(4);
  });

  test("knows months of leap years", () => {
    const months = bucketsOf(range("2024-01-15T00:00:00Z", "2024-04-01T00:00:00Z"), "month", "UTC", 10);
    expect(starts(months)).toEqual(["2024-01-15T00:00", "2024-02-01T00:00", "2024-03-01T00:00"]);
  });

  test("refuses more buckets than asked for", () => {
    const day = range("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
    expect(bucketsOf(day, "15m", "UTC", 96)).toHaveLength(96);
    expect(bucketsOf(day, "15m", "UTC", 95)).toBeNull();
  });

  const zones = fc.constantFrom(...Intl.supportedValuesOf("timeZone"));
  const instants = fc.integer({ min: at("1900-01-01T00:00:00Z"), max: at("2040-01-01T00:00:00Z") });
  const lengths = { "15m": 3, hour: 12, day: 400, month: 5_000 } as const;

  test("covers any range of any zone without gap or overlap", () => {
    fc.assert(
      fc.property(
        zones,
        instants,
        fc.constantFrom(...bucketSchema.options),
        fc.double({ min: 0.001, max: 1, noNaN: true }),
        (zone, start, bucket, share) => {
          const end = start + Math.ceil(lengths[bucket] * 86_400_000 * share);
          const buckets = bucketsOf({ start, end }, bucket, zone, 1_000);
          expect(buckets?.[0]?.start).toBe(start);
          expect(buckets?.at(-1)?.end).toBe(end);
          buckets?.forEach((one, index) => {
            expect(one.end).toBeGreaterThan(one.start);
            expect(buckets[index + 1]?.start ?? end).toBe(one.end);
          });
        },
      ),
      { numRuns: 150 },
    );
  });

  test("begins each later day of a zone where the date on its wall changes", () => {
    const date = (zone: string, instant: number) =>
      new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" }).format(instant);
    fc.assert(
      fc.property(zones, fc.integer({ min: at("2012-01-01T00:00:00Z"), max: at("2030-01-01T00:00:00Z") }), (zone, start) => {
        const days = bucketsOf({ start, end: start + 5 * 86_400_000 }, "day", zone, 20) ?? [];
        for (const day of days.slice(1)) expect(date(zone, day.start)).not.toBe(date(zone, day.start - 1));
      }),
      { numRuns: 100 },
    );
  });
});

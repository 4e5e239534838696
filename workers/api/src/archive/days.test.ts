import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Grouping } from "@sessionplane/shared/report";
import { QUARTER_MS } from "@sessionplane/shared/report";
import { REMOVE_QUARTERS, SUM_UP_QUARTERS } from "../catalog/usage-days.ts";
import { bucketsOf } from "../reports/buckets.ts";
import { reportSql } from "../reports/query.ts";
import { MAX_DAYS, besideDays, wholeDays } from "./days.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START = Date.parse("2026-01-01T00:00:00Z");
const zones = fc.constantFrom(...Intl.supportedValuesOf("timeZone"));
const TENANT = "ten_01m8ngf2z2esgbjasbkqkwx8bx";

test("whole days follow on one another from the first quarter to the last day that is over", () => {
  fc.assert(
    fc.property(zones, fc.nat(300 * 96), fc.integer({ min: 0, max: 500 * DAY_MS }), (zone, quarter, length) => {
      const first = START + quarter * QUARTER_MS;
      const before = first + length;
      const days = wholeDays(first, before, zone);
      days.forEach((day, index) => {
        expect(day.start % QUARTER_MS).toBe(0);
        expect(day.end - day.start).toBeGreaterThanOrEqual(22 * HOUR_MS);
        expect(day.end - day.start).toBeLessThanOrEqual(26 * HOUR_MS);
        expect(days[index + 1]?.start ?? day.end).toBe(day.end);
      });
      const [one] = days;
      const last = days.at(-1);
      if (one !== undefined) expect([one.start <= first, one.end > first]).toEqual([true, true]);
      if (last !== undefined) expect(last.end).toBeLessThanOrEqual(before);
      // No day that is over is left out.
      if (days.length < MAX_DAYS) expect(before - (last?.end ?? first)).toBeLessThan(26 * HOUR_MS);
    }),
    { numRuns: 200 },
  );
});

test("days beside those that are kept are these and what is left of the others", () => {
  const spans = fc.array(fc.tuple(fc.nat(60), fc.integer({ min: 1, max: 30 })), { maxLength: 20 });
  fc.assert(
    fc.property(zones, spans, fc.nat(20 * 96), fc.nat(25 * 96), (zone, lengths, quarter, length) => {
      const kept: { start: number; end: number }[] = [];
      let place = START - 3 * DAY_MS;
      for (const [gap, hours] of lengths) {
        kept.push({ start: place + gap * QUARTER_MS, end: place + gap * QUARTER_MS + hours * HOUR_MS });
        place = kept.at(-1)?.end ?? place;
      }
      const first = START + quarter * QUARTER_MS;
      const before = first + length * QUARTER_MS;
      const days = wholeDays(first, before, zone);
      const begin = days[0]?.start ?? first;
      const within = kept.filter((day) => day.end > begin && day.start < (days.at(-1)?.end ?? before));
      const pieces = besideDays(days, within, first, before);
      pieces.forEach((piece, index) => {
        expect(piece.start).toBeLessThan(piece.end);
        expect(piece.end).toBeLessThanOrEqual(before);
        expect(pieces[index + 1]?.start ?? piece.end).toBe(piece.end);
        const isKept = within.some((day) => day.start === piece.start && day.end === piece.end);
        const isFree = within.every((day) => day.end <= piece.start || day.start >= piece.end);
        const isOfADay = days.some((day) => day.start <= piece.start && day.end >= piece.end);
        expect(isKept || (isFree && isOfADay)).toBe(true);
      });
      // Whatever day holds the first quarter, it is folded once that day is over.
      const holding = [...within, ...days].filter((day) => day.start <= first && day.end > first);
      if (holding.length > 0 && holding.every((day) => day.end <= before)) expect(pieces[0]?.end).toBeGreaterThan(first);
    }),
    { numRuns: 500 },
  );
});

const migrations = join(import.meta.dirname, "../../../../migrations");
const schema = readdirSync(migrations)
  .filter((name) => name.endsWith(".sql"))
  .toSorted()
  .map((name) => readFileSync(join(migrations, name), "utf8"))
  .join("\n");

const rollup = fc.record({
  bucket: fc.nat(60 * 96).map((quarter) => START + quarter * QUARTER_MS),
  session: fc.constantFrom("a", "b"),
  class: fc.constantFrom("input", "output"),
  amount: fc.nat(1_000_000_000),
});

const BY_SESSION_AND_CLASS: Grouping = { groups: ["session", "token_class"], tags: [] };

function reportOf(db: DatabaseSync, zone: string) {
  const buckets = bucketsOf({ start: START - 2 * DAY_MS, end: START + 70 * DAY_MS }, "day", zone, 100) ?? [];
  const { text, parameters } = reportSql("all_tenants", buckets, BY_SESSION_AND_CLASS, {}, { maxRows: 10_000, after: null });
  return db.prepare(text).all(...parameters);
}

test("quarters that become days, a part at a time, make the same report", () => {
  fc.assert(
    fc.property(
      zones,
      fc.array(rollup, { maxLength: 60 }),
      fc.array(fc.nat(65 * DAY_MS), { maxLength: 4 }),
      (zone, rollups, cuts) => {
        const db = new DatabaseSync(":memory:");
        db.exec(schema);
        const insert = db.prepare(
          `INSERT INTO usage_rollups VALUES ('${TENANT}', ?, ?, '', 'p', 'm', 'turn', ?, 1, ?, ?, ?, 0)
         ON CONFLICT DO UPDATE SET quantity = quantity + excluded.quantity`,
        );
        for (const one of rollups) insert.run(one.bucket, one.session, one.class, one.amount, one.amount, one.amount);
        const before = reportOf(db, zone);
        for (const cut of cuts) {
          const row = db.prepare("SELECT min(bucket) AS first FROM usage_rollups").get();
          const first = row?.["first"];
          if (typeof first !== "number") break;
          const days = wholeDays(first, START + cut, zone);
          const [from, to] = [days[0]?.start, days.at(-1)?.end];
          if (from === undefined || to === undefined) continue;
          db.prepare(SUM_UP_QUARTERS).run(JSON.stringify(days), TENANT);
          db.prepare(REMOVE_QUARTERS).run(TENANT, from, to);
          expect(reportOf(db, zone)).toEqual(before);
        }
      },
    ),
    { numRuns: 100 },
  );
});

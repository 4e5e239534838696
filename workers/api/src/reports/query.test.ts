import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SQLiteSyncDialect } from "drizzle-orm/sqlite-core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type SessionId, type TenantId, newId } from "@sessionplane/shared/ids";
import { parseMoney } from "@sessionplane/shared/money";
import { type Bucket, REPORT_GROUPS, type ReportGroup, bucketSchema } from "@sessionplane/shared/report";
import type { PricedUsage, UsageLine } from "@sessionplane/shared/usage-event";
import { ROLLUP_MS, summedUp } from "../catalog/rollups.ts";
import { rowsOf } from "../projection/rows.ts";
import { ADD_EVENTS, ADD_TO_ROLLUPS } from "../projection/statements.ts";
import { bucketsOf } from "./buckets.ts";
import { costRows, totalsOf, usageRows } from "./fold.ts";
import { type ReportFilter, type ReportRow, reportSql } from "./query.ts";

const MIGRATIONS = join(import.meta.dirname, "../../../../migrations");
const schema = readdirSync(MIGRATIONS)
  .filter((name) => name.endsWith(".sql"))
  .toSorted()
  .map((name) => readFileSync(join(MIGRATIONS, name), "utf8"))
  .join("\n");

const TENANTS = [newId("tenant"), newId("tenant")] as const;
const SESSIONS = [newId("session"), newId("session"), newId("session")] as const;
const START = Date.parse("2026-10-20T00:00:00Z");
const DAYS_MS = 12 * 86_400_000;

type Used = { readonly tenant: TenantId; readonly session: SessionId; readonly event: PricedUsage };

const line = (name: "input" | "output", quantity: number, nano: number | null): UsageLine => {
  const price = { id: "prc_x", class: name, femto_usd_per_token: 1, effective_from: 0, source: "test" };
  return { class: name, quantity, price: nano === null ? null : price, list_nano: nano, billed_nano: nano };
};

const event = (id: string, occurredAt: number, lines: UsageLine[], user: string | null = null): PricedUsage => ({
  ...{ id, fingerprint: id, provider: "openai", model: "gpt-4o", purpose: "turn", status: "final", user_id: user },
  ...{ message_id: null, request_id: null, tags: {}, occurred_at: occurredAt, input_tokens: 0, output_tokens: 0, lines },
  ...{ raw_usage: "{}", normalizer_version: 1 },
});

/** A catalog to which the projection's own statements have applied these events. */
function catalogOf(used: readonly Used[]): DatabaseSync {
  const db = new DatabaseSync(":memory:");
  db.exec(schema);
  for (const id of TENANTS) db.prepare("INSERT INTO tenants VALUES (?, NULL, 'x', 'active', '{}', '{}', 1, 0, 0)").run(id);
  const batches = used.map((one, index) => ({
    ...{ v: 1 as const, tenant_id: one.tenant, session_id: one.session, after_seq: index, to_seq: index + 1 },
    facts: [{ kind: "usage" as const, seq: index + 1, recorded_at: 0, event: one.event }],
  }));
  for (const sql of [ADD_TO_ROLLUPS, ADD_EVENTS]) db.prepare(sql).run(JSON.stringify(rowsOf(batches).usage));
  return db;
}

const count = z.int();
const key = z.string();
const rowSchema: z.ZodType<ReportRow> = z.strictObject({
  ...{ bucket: count, tenant: key, user: key, session: key, model: key, provider: key, purpose: key, class: key },
  ...{ events: count, quantity: count, list: z.string(), billed: z.string(), unpriced: count },
});

type Ask = { start: number; end: number; bucket: Bucket; zone: string; groupBy: ReportGroup[]; scope: TenantId | "all_tenants" };

function report(db: DatabaseSync, { start, end, bucket, zone, groupBy, scope }: Ask, filter: ReportFilter = {}) {
  const buckets = bucketsOf({ start, end }, bucket, zone, 2_000) ?? [];
  const { text, parameters } = reportSql(scope, buckets, groupBy, filter, 100_000);
  const rows = db
    .prepare(text)
    .all(...parameters)
    .map((row) => rowSchema.parse(row));
  return {
    rows,
    buckets,
    totals: totalsOf(rows),
    cost: costRows(rows, buckets, groupBy),
    usage: usageRows(rows, buckets, groupBy),
  };
}

const lineArbitrary = (name: "input" | "output") =>
  fc
    .record({ quantity: fc.nat(1_000_000), nano: fc.option(fc.nat(1_000_000_000)) })
    .map(({ quantity, nano }) => line(name, quantity, nano));

const usedArbitrary = fc
  .array(
    fc.record({
      tenant: fc.constantFrom(...TENANTS),
      session: fc.constantFrom(...SESSIONS),
      at: fc.nat(DAYS_MS),
      user: fc.option(fc.constantFrom("ann", "bob")),
      lines: fc.oneof(fc.tuple(lineArbitrary("input")), fc.tuple(lineArbitrary("input"), lineArbitrary("output"))),
    }),
    { maxLength: 40 },
  )
  .map((many): Used[] =>
    many.map(({ tenant, session, at, user, lines }, index) => ({
      tenant,
      session,
      event: event(`e${index}`, START + at, lines, user),
    })),
  );

const askArbitrary = fc
  .record({
    from: fc.nat(DAYS_MS),
    length: fc.integer({ min: 1, max: DAYS_MS }),
    bucket: fc.constantFrom(...bucketSchema.options),
    zone: fc.constantFrom("UTC", "Europe/Prague", "Asia/Kathmandu", "Australia/Lord_Howe", "America/New_York"),
    groupBy: fc.subarray([...REPORT_GROUPS]),
    scope: fc.constantFrom<TenantId | "all_tenants">("all_tenants", ...TENANTS),
  })
  .map(({ from, length, ...ask }): Ask => ({ ...ask, start: START + from, end: START + from + length }));

const nanoOf = (used: readonly Used[]): bigint =>
  used.reduce((sum, one) => one.event.lines.reduce((all, { billed_nano: nano }) => all + BigInt(nano ?? 0), sum), 0n);

test("rollups that are counted event by event are those that the events sum up to, in any order and told again", () => {
  const range = { start: START, end: START + DAYS_MS + ROLLUP_MS };
  const sort = (rows: readonly Record<string, unknown>[]) => rows.map((row) => JSON.stringify({ ...row })).toSorted();
  fc.assert(
    fc.property(
      usedArbitrary.chain((used) => fc.tuple(fc.constant(used), fc.shuffledSubarray(used, { minLength: used.length }))),
      ([used, shuffled]) => {
        const db = catalogOf(used);
        const other = catalogOf([...shuffled, ...used.slice(0, 3)]);
        for (const tenantId of TENANTS) {
          const counted = "SELECT * FROM usage_rollups WHERE tenant_id = ?";
          const { sql: text, params } = new SQLiteSyncDialect().sqlToQuery(summedUp({ tenantId, ...range }));
          const summed = sort(db.prepare(text).all(...(params as (string | number)[])));
          expect(sort(db.prepare(counted).all(tenantId))).toEqual(summed);
          expect(sort(other.prepare(counted).all(tenantId))).toEqual(summed);
        }
      },
    ),
    { numRuns: 60 },
  );
});

describe("a report", () => {
  test("adds up to the events of its range, whatever the range, bucket, zone and grouping", () => {
    fc.assert(
      fc.property(usedArbitrary, askArbitrary, (used, ask) => {
        const { totals, cost, usage } = report(catalogOf(used), ask);
        const inside = used.filter(
          ({ tenant, event: { occurred_at: at } }) =>
            (ask.scope === "all_tenants" || tenant === ask.scope) && at >= ask.start && at < ask.end,
        );
        expect(parseMoney(totals.cost)).toBe(nanoOf(inside));
        expect(cost.reduce((sum, row) => sum + parseMoney(row.cost), 0n)).toBe(nanoOf(inside));
        expect(totals.events).toBe(inside.length);
        expect(totals.unpriced_events).toBe(
          inside.filter((one) => one.event.lines.some((each) => each.list_nano === null)).length,
        );
        const input = inside.reduce((sum, one) => sum + (one.event.lines[0]?.quantity ?? 0), 0);
        expect(usage.reduce((sum, row) => sum + (row.quantities["input"] ?? 0), 0)).toBe(input);
      }),
      { numRuns: 60 },
    );
  });

  test("puts each event in the bucket of its instant", () => {
    fc.assert(
      fc.property(usedArbitrary, askArbitrary, (used, ask) => {
        for (const row of report(catalogOf(used), { ...ask, groupBy: [] }).cost) {
          const inside = used.filter(
            ({ tenant, event: { occurred_at: at } }) =>
              (ask.scope === "all_tenants" || tenant === ask.scope) && at >= Date.parse(row.start) && at < Date.parse(row.end),
          );
          expect(row.events).toBe(inside.length);
          expect(parseMoney(row.cost)).toBe(nanoOf(inside));
        }
      }),
      { numRuns: 40 },
    );
  });

  test("sees one tenant's rows when it is of one tenant", () => {
    const [mine, other] = TENANTS;
    const [session] = SESSIONS;
    const db = catalogOf([
      { tenant: mine, session, event: event("a", START, [line("input", 1, 1)]) },
      { tenant: other, session: SESSIONS[1], event: event("b", START, [line("input", 10, 10)]) },
    ]);
    const ask: Ask = { start: START, end: START + 1, bucket: "day", zone: "UTC", groupBy: ["tenant", "session"], scope: mine };
    expect(report(db, ask).usage).toMatchObject([{ tenant_id: mine, session_id: session, events: 1, quantities: { input: 1 } }]);
    expect(report(db, ask, { sessionId: SESSIONS[1] }).rows).toEqual([]);
    expect(report(db, { ...ask, scope: "all_tenants" }).usage).toHaveLength(2);
  });

  test("adds money past what a double holds exactly", () => {
    const used = Array.from({ length: 3 }, (_, index) => ({
      tenant: TENANTS[0],
      session: SESSIONS[0],
      event: event(`e${index}`, START, [line("input", 1, Number.MAX_SAFE_INTEGER)]),
    }));
    const ask: Ask = { start: START, end: START + DAYS_MS, bucket: "month", zone: "UTC", groupBy: [], scope: "all_tenants" };
    expect(parseMoney(report(catalogOf(used), ask).totals.cost)).toBe(3n * BigInt(Number.MAX_SAFE_INTEGER));
  });

  test("counts no events where it is split by class", () => {
    const db = catalogOf([
      { tenant: TENANTS[0], session: SESSIONS[0], event: event("a", START, [line("input", 1, 1), line("output", 2, null)]) },
    ]);
    const ask: Ask = { start: START, end: START + 1, bucket: "day", zone: "UTC", groupBy: ["token_class"], scope: "all_tenants" };
    const { cost, totals } = report(db, ask);
    expect(cost.map((row) => [row.token_class, row.events, row.unpriced_events])).toEqual([
      ["input", null, null],
      ["output", null, null],
    ]);
    expect(totals).toMatchObject({ events: 1, unpriced_events: 1 });
  });
});

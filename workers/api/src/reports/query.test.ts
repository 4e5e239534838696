import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SQLiteSyncDialect } from "drizzle-orm/sqlite-core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type SessionId, type TenantId, newId } from "@sessionplane/shared/ids";
import { parseMoney } from "@sessionplane/shared/money";
import { explainCost, lineSumSchema } from "@sessionplane/shared/explained-cost";
import { type Bucket, type CostRow, type Grouping, REPORT_GROUPS, bucketSchema } from "@sessionplane/shared/report";
import type { PricedUsage, UsageLine } from "@sessionplane/shared/usage-event";
import { QUARTER_MS } from "@sessionplane/shared/report";
import { summedUp } from "../catalog/rollups.ts";
import { rowsOf } from "../projection/rows.ts";
import { ADD_EVENTS, ADD_TO_ROLLUPS } from "../projection/statements.ts";
import { bucketsOf } from "./buckets.ts";
import { type ExplainFilter, explainSql } from "./explain.ts";
import { Totals, costRows, usageRows } from "./fold.ts";
import { reportPages } from "./pages.ts";
import { type ReportFilter, type ReportRow, type RowLimits, reportSql } from "./query.ts";
import { streamReport } from "./stream.ts";

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
  const price = { id: `prc_${name}`, class: name, femto_usd_per_token: 1_500_001, effective_from: 0, source: "test" };
  return { class: name, quantity, price: nano === null ? null : price, list_nano: nano, billed_nano: nano };
};

type Said = { readonly user?: string | null; readonly tags?: Record<string, string>; readonly adjusts?: string };

const event = (
  id: string,
  occurredAt: number,
  lines: UsageLine[],
  { user = null, tags = {}, adjusts }: Said = {},
): PricedUsage => ({
  ...{ id, fingerprint: id, provider: "openai", model: "gpt-4o", purpose: "turn", status: "final", user_id: user },
  ...{ message_id: null, request_id: null, tags, occurred_at: occurredAt, input_tokens: 0, output_tokens: 0, lines },
  ...{ raw_usage: "{}", normalizer_version: 1 },
  ...(adjusts === undefined ? {} : { adjustment: { of: adjusts, reason: "test", reversed: 0, unpriced_change: 0 } }),
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
  ...{ bucket: count, tenant: key, user: key, session: key, model: key, provider: key, purpose: key, class: key, tags: key },
  ...{ events: count, quantity: count, list: z.string(), billed: z.string(), unpriced: count },
});

type Ask = { start: number; end: number; bucket: Bucket; zone: string; grouping: Grouping; scope: TenantId | "all_tenants" };
const NO_GROUPS: Grouping = { groups: [], tags: [] };

const bucketsFor = ({ start, end, bucket, zone }: Ask) => bucketsOf({ start, end }, bucket, zone, 2_000) ?? [];

/** The rows of some buckets, as the catalog gives them. */
const rowsIn =
  (db: DatabaseSync, { grouping, scope }: Ask, filter: ReportFilter) =>
  (buckets: ReturnType<typeof bucketsFor>, limits: RowLimits): ReportRow[] => {
    const { text, parameters } = reportSql(scope, buckets, grouping, filter, limits);
    const rows = db.prepare(text).all(...parameters);
    return rows.map((row) => rowSchema.parse(row));
  };

function report(db: DatabaseSync, ask: Ask, filter: ReportFilter = {}) {
  const buckets = bucketsFor(ask);
  const rows = rowsIn(db, ask, filter)(buckets, { maxRows: 100_000, after: null });
  return {
    rows,
    buckets,
    totals: new Totals().add(rows).show(),
    cost: costRows(rows, buckets, ask.grouping),
    usage: usageRows(rows, buckets, ask.grouping),
  };
}

/** The lines of a streamed report, so many rows of the query at a time. */
async function streamed(db: DatabaseSync, ask: Ask, pageRows: number): Promise<unknown[]> {
  const rows = rowsIn(db, ask, {});
  const asked = async (buckets: readonly { start: number; end: number }[], limits: RowLimits) => rows([...buckets], limits);
  const stream = await streamReport(
    reportPages(asked, bucketsFor(ask), ask.grouping, pageRows),
    (part, buckets) => costRows(part, buckets, ask.grouping),
    { head: "", line: (row) => `${JSON.stringify(row)}\n`, end: (totals) => JSON.stringify({ totals }) },
  );
  const text = await new Response(stream).text();
  return text.split("\n").map((each) => JSON.parse(each) as unknown);
}

const lineArbitrary = (name: "input" | "output") =>
  fc
    .record({ quantity: fc.nat(1_000_000), nano: fc.option(fc.nat(1_000_000_000)) })
    .map(({ quantity, nano }) => line(name, quantity, nano));

const TAG_KEYS = ["team", 'a "b", c\\.$[0]', "é"] as const;

const usedArbitrary = fc
  .array(
    fc.record({
      tenant: fc.constantFrom(...TENANTS),
      session: fc.constantFrom(...SESSIONS),
      at: fc.nat(DAYS_MS),
      user: fc.option(fc.constantFrom("ann", "bob")),
      tags: fc.dictionary(fc.constantFrom(...TAG_KEYS), fc.constantFrom("", "x", "y", 'q"\\', "[1]")),
      lines: fc.oneof(fc.tuple(lineArbitrary("input")), fc.tuple(lineArbitrary("input"), lineArbitrary("output"))),
    }),
    { maxLength: 40 },
  )
  .map((many): Used[] =>
    many.map(({ tenant, session, at, lines, ...said }, index) => ({
      tenant,
      session,
      event: event(`e${index}`, START + at, lines, said),
    })),
  );

const askArbitrary = fc
  .record({
    from: fc.nat(DAYS_MS),
    length: fc.integer({ min: 1, max: DAYS_MS }),
    bucket: fc.constantFrom(...bucketSchema.options),
    zone: fc.constantFrom("UTC", "Europe/Prague", "Asia/Kathmandu", "Australia/Lord_Howe", "America/New_York"),
    grouping: fc.record({
      groups: fc.shuffledSubarray([...REPORT_GROUPS]),
      tags: fc.oneof(fc.constant([]), fc.shuffledSubarray([...TAG_KEYS, "none"])),
    }),
    scope: fc.constantFrom<TenantId | "all_tenants">("all_tenants", ...TENANTS),
  })
  .map(({ from, length, ...ask }): Ask => ({ ...ask, start: START + from, end: START + from + length }));

const nanoOf = (used: readonly Used[]): bigint =>
  used.reduce((sum, one) => one.event.lines.reduce((all, { billed_nano: nano }) => all + BigInt(nano ?? 0), sum), 0n);

test("rollups that are counted event by event are those that the events sum up to, in any order and told again", () => {
  const range = { start: START, end: START + DAYS_MS + QUARTER_MS };
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
        for (const row of report(catalogOf(used), { ...ask, grouping: NO_GROUPS }).cost) {
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
    const ask: Ask = {
      start: START,
      end: START + 1,
      bucket: "day",
      zone: "UTC",
      grouping: { groups: ["tenant", "session"], tags: [] },
      scope: mine,
    };
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
    const ask: Ask = {
      start: START,
      end: START + DAYS_MS,
      bucket: "month",
      zone: "UTC",
      grouping: NO_GROUPS,
      scope: "all_tenants",
    };
    expect(parseMoney(report(catalogOf(used), ask).totals.cost)).toBe(3n * BigInt(Number.MAX_SAFE_INTEGER));
  });

  test("counts no events where it is split by class", () => {
    const db = catalogOf([
      { tenant: TENANTS[0], session: SESSIONS[0], event: event("a", START, [line("input", 1, 1), line("output", 2, null)]) },
    ]);
    const ask: Ask = {
      start: START,
      end: START + 1,
      bucket: "day",
      zone: "UTC",
      grouping: { groups: ["token_class"], tags: [] },
      scope: "all_tenants",
    };
    const { cost, totals } = report(db, ask);
    expect(cost.map((row) => [row.token_class, row.events, row.unpriced_events])).toEqual([
      ["input", null, null],
      ["output", null, null],
    ]);
    expect(totals).toMatchObject({ events: 1, unpriced_events: 1 });
  });
});

const insideOf = (used: readonly Used[], ask: Ask) =>
  used.filter(
    ({ tenant, event: { occurred_at: at } }) =>
      (ask.scope === "all_tenants" || tenant === ask.scope) && at >= ask.start && at < ask.end,
  );

describe("a report by tag", () => {
  test("has one row for each combination of values, null for none, each with its own events", () => {
    fc.assert(
      fc.property(usedArbitrary, askArbitrary, fc.shuffledSubarray([...TAG_KEYS], { minLength: 1 }), (used, asked, tags) => {
        const ask = { ...asked, bucket: "month" as const, grouping: { groups: [], tags } };
        const valuesOf = ({ event: { tags: of } }: Used) => Object.fromEntries(tags.map((name) => [name, of[name] ?? null]));
        for (const row of report(catalogOf(used), ask).cost) {
          const cell = insideOf(used, { ...ask, start: Date.parse(row.start), end: Date.parse(row.end) }).filter(
            (one) => JSON.stringify(valuesOf(one)) === JSON.stringify(row.tags),
          );
          expect(row.events).toBe(cell.length);
          expect(parseMoney(row.cost)).toBe(nanoOf(cell));
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe("a streamed report", () => {
  test("has the rows and totals of the whole one, however small its pages", async () => {
    await fc.assert(
      fc.asyncProperty(usedArbitrary, askArbitrary, fc.integer({ min: 3, max: 20 }), async (used, ask, pageRows) => {
        const db = catalogOf(used);
        const { cost, totals } = report(db, ask);
        expect(await streamed(db, ask, pageRows)).toEqual(JSON.parse(JSON.stringify([...cost, { totals }])));
      }),
      { numRuns: 60 },
    );
  });

  test("breaks off when a later page fails, and is no stream when the first does", async () => {
    const db = catalogOf([{ tenant: TENANTS[0], session: SESSIONS[0], event: event("a", START, [line("input", 1, 1)]) }]);
    const ask: Ask = { start: START, end: START + DAYS_MS, bucket: "hour", zone: "UTC", grouping: NO_GROUPS, scope: TENANTS[0] };
    const stream = async (pagesBefore: number) => {
      let pages = 0;
      const failing = async (buckets: readonly { start: number; end: number }[], limits: RowLimits) => {
        if (pages++ === pagesBefore) throw new Error("the catalog is gone");
        return rowsIn(db, ask, {})([...buckets], limits);
      };
      const format = { head: "", line: (row: CostRow) => JSON.stringify(row), end: () => "end" };
      const pagesOf = reportPages(failing, bucketsFor(ask), NO_GROUPS);
      return streamReport(pagesOf, (rows, buckets) => costRows(rows, buckets, NO_GROUPS), format);
    };
    await expect(stream(0)).rejects.toThrow("the catalog is gone");
    const reader = (await stream(1)).getReader();
    expect((await reader.read()).done).toBe(false);
    await expect(reader.read()).rejects.toThrow("the catalog is gone");
  });
});

describe("an explanation", () => {
  const explain = (db: DatabaseSync, ask: Ask, filter: ExplainFilter) => {
    const { text, parameters } = explainSql(ask.scope, ask, filter, 1_000);
    const sums = db.prepare(text).all(...parameters);
    return explainCost(
      sums.map((row) => lineSumSchema.parse(row)),
      filter.class !== undefined,
    );
  };
  const filterOfRow = (row: CostRow): ExplainFilter => ({
    ...{ sessionId: row.session_id, userId: row.user_id ?? (row.user_id === null ? "" : undefined), model: row.model },
    ...{ provider: row.provider, purpose: row.purpose, class: row.token_class },
    tags: Object.entries(row.tags ?? {}).map(([key, value]) => ({ key, value })),
  });

  test("of any row has the row's totals, and lines that add up to them", () => {
    fc.assert(
      fc.property(usedArbitrary, askArbitrary, (used, ask) => {
        const db = catalogOf(used);
        for (const row of report(db, ask).cost) {
          const cell = { ...ask, start: Date.parse(row.start), end: Date.parse(row.end) };
          const scope = TENANTS.find((one) => one === row.tenant_id) ?? ask.scope;
          const { lines, totals } = explain(db, { ...cell, scope }, filterOfRow(row));
          const { events, unpriced_events, list_cost, cost } = row;
          expect(totals).toEqual({ events, unpriced_events, list_cost, cost, adjustments: events === null ? null : 0 });
          expect(lines.reduce((sum, one) => sum + parseMoney(one.billed ?? { amount: "0", currency: "USD" }), 0n)).toBe(
            parseMoney(cost),
          );
        }
      }),
      { numRuns: 60 },
    );
  });

  test("shows quantity times price exactly, what rounding added, and what has no price", () => {
    const used = ["a", "b"].map((id) => ({
      ...{ tenant: TENANTS[0], session: SESSIONS[0] },
      event: event(id, START, [line("input", 3, 5), line("output", 7, null)]),
    }));
    const ask: Ask = { start: START, end: START + 1, bucket: "day", zone: "UTC", grouping: NO_GROUPS, scope: TENANTS[0] };
    const { lines, totals } = explain(catalogOf(used), ask, { tags: [] });
    expect(lines).toMatchObject([
      {
        ...{ class: "input", events: 2, quantity: 6, product: "0.000000009000006", rounding: "0.000000000999994" },
        ...{ list: { amount: "0.000000010" }, price: { id: "prc_input", usd_per_million: "0.001500001" } },
      },
      { class: "output", events: 2, quantity: 14, product: null, rounding: null, list: null, billed: null, price: null },
    ]);
    expect(totals).toMatchObject({ events: 2, unpriced_events: 2, adjustments: 0 });
  });

  test("counts corrections, and takes back what they take back", () => {
    const used = [
      event("a", START, [line("input", 10, 20)]),
      event("fix", START, [line("input", -10, -20), line("input", 4, 8)], { adjusts: "a" }),
    ].map((one) => ({ tenant: TENANTS[0], session: SESSIONS[0], event: one }));
    const ask: Ask = { start: START, end: START + 1, bucket: "day", zone: "UTC", grouping: NO_GROUPS, scope: TENANTS[0] };
    const { lines, totals } = explain(catalogOf(used), ask, { tags: [] });
    expect(lines).toMatchObject([{ events: 1, adjustments: 1, quantity: 4, list: { amount: "0.000000008" } }]);
    expect(totals).toMatchObject({ events: 1, adjustments: 1, cost: { amount: "0.000000008" } });
  });

  test("tells the provider's word from what is not known, and takes back a line where it was", () => {
    const told = { ...line("input", 9, 50), price: null };
    const unknown = line("input", 10, null);
    const fix = {
      ...event("fix", START, [{ ...unknown, quantity: -10, list_nano: 0, billed_nano: 0 }, line("input", 10, 20)]),
      adjustment: { of: "b", reason: "priced", reversed: 1, unpriced_change: -1 },
    };
    const all = [event("a", START, [told]), event("b", START, [unknown]), event("c", START, [line("input", 4, null)]), fix];
    const used = all.map((one) => ({ tenant: TENANTS[0], session: SESSIONS[0], event: one }));
    const ask: Ask = { start: START, end: START + 1, bucket: "day", zone: "UTC", grouping: NO_GROUPS, scope: TENANTS[0] };
    const { lines, totals } = explain(catalogOf(used), ask, { tags: [] });
    expect(lines.map((one) => [one.cost_source, one.quantity, one.events, one.adjustments, one.list?.amount ?? null])).toEqual([
      [null, 4, 2, 1, null],
      ["provider", 9, 1, 0, "0.000000050"],
      ["prices", 10, 0, 1, "0.000000020"],
    ]);
    expect(totals).toMatchObject({ events: 3, adjustments: 1, unpriced_events: 1, cost: { amount: "0.000000070" } });
  });
});

/** The ledger while calls come, are archived and become days: at the very moment between its reads and its writes. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { expect, test } from "vitest";
import { type SessionId, type TenantId, newId } from "@sessionplane/shared/ids";
import type { PricedUsage } from "@sessionplane/shared/usage-event";
import { connect } from "../catalog/db.ts";
import type { RollupRange } from "../catalog/rollups.ts";
import { eventsThrough, moveToArchive } from "../catalog/usage-archives.ts";
import { REMOVE_QUARTERS, SUM_UP_QUARTERS, foldIntoDays } from "../catalog/usage-days.ts";
import { rowsOf } from "../projection/rows.ts";
import { ADD_EVENTS, ADD_TO_ROLLUPS } from "../projection/statements.ts";
import { type Reach, readReport } from "../reports/read-report.ts";
import { UNGROUPED } from "../routes/reports/report-query.ts";
import { bucketsOf } from "../reports/buckets.ts";
import { checkLedger, rebuildLedger } from "./ledger-check.ts";
import { foldQuarters } from "./fold-quarters.ts";
import { putFile } from "./usage-file.ts";

const MIGRATIONS = join(import.meta.dirname, "../../../../migrations");
const schema = readdirSync(MIGRATIONS)
  .filter((name) => name.endsWith(".sql"))
  .toSorted()
  .map((name) => readFileSync(join(MIGRATIONS, name), "utf8"))
  .join("\n");

const DAY_MS = 86_400_000;
const START = Date.parse("2026-03-01T00:00:00Z");

/** As much of D1 as the catalog uses, over a database in memory. */
function d1Of(db: DatabaseSync, onPrepare: (sql: string) => void): D1Database {
  type Statement = { sql: string; values: SQLInputValue[] };
  const run = ({ sql, values }: Statement) => {
    const statement = db.prepare(sql);
    const results = statement.all(...values);
    return { success: true, results, meta: { changes: Number(db.prepare("SELECT changes() AS n").get()?.["n"] ?? 0) } };
  };
  const prepare = (sql: string, values: SQLInputValue[] = []): object => ({
    ...{ sql, values },
    bind: (...bound: SQLInputValue[]) => prepare(sql, bound),
    all: async () => run({ sql, values }),
    run: async () => run({ sql, values }),
    first: async () => run({ sql, values }).results[0] ?? null,
    raw: async () => {
      const statement = db.prepare(sql);
      statement.setReturnArrays(true);
      return statement.all(...values);
    },
  });
  const prepared = (sql: string) => {
    onPrepare(sql);
    return prepare(sql);
  };
  const batch = async (statements: Statement[]) => {
    db.exec("BEGIN");
    const done = statements.map(run);
    db.exec("COMMIT");
    return done;
  };
  return { prepare: prepared, batch } as unknown as D1Database;
}

/** A bucket that says when it is read. */
function bucketOf(onRead: () => Promise<void>): R2Bucket {
  const objects = new Map<string, ArrayBuffer>();
  const get = async (key: string) => {
    await onRead();
    const bytes = objects.get(key);
    return bytes === undefined ? null : { arrayBuffer: async () => bytes };
  };
  return { put: async (key: string, bytes: ArrayBuffer) => void objects.set(key, bytes), get } as unknown as R2Bucket;
}

/** A tenant's ledger of one session: calls of one day, each at 1 nano. */
class Ledger {
  readonly tenantId: TenantId = newId("tenant");
  readonly sessionId: SessionId = newId("session");
  readonly range: RollupRange = { tenantId: this.tenantId, start: START, end: START + DAY_MS };
  readonly audit = { tenantId: this.tenantId, actor: "key_x", action: "ledger.rebuild", target: "t", requestId: "req_x" };
  readonly db = new DatabaseSync(":memory:");
  readonly stores: { CATALOG: D1Database; CONTENT: R2Bucket };
  /** What happens once, while a file is read. */
  meanwhile: (() => unknown) | null = null;
  /** What happens when the statement of a report is made, just before it runs. */
  beforeReport: (() => void) | null = null;
  #seq = 0;

  constructor() {
    this.db.exec(schema);
    const onRead = async () => {
      const happening = this.meanwhile;
      this.meanwhile = null;
      await happening?.();
    };
    const onPrepare = (sql: string) => {
      if (sql.includes("WITH used")) this.beforeReport?.();
    };
    this.stores = { CATALOG: d1Of(this.db, onPrepare), CONTENT: bucketOf(onRead) };
  }

  record(count: number, at = START): void {
    for (let index = 0; index < count; index++) {
      const seq = (this.#seq += 1);
      const price = { id: "prc_x", class: "input" as const, femto_usd_per_token: 1, effective_from: 0, source: "test" };
      const event: PricedUsage = {
        ...{ id: `call-${seq}`, fingerprint: "", provider: "p", model: "m", purpose: "turn", status: "final", user_id: null },
        ...{ message_id: null, request_id: null, tags: {}, occurred_at: at + ((seq * 61) % 1_440) * 60_000 },
        ...{ input_tokens: 1, output_tokens: 0, raw_usage: "{}", normalizer_version: 1 },
        lines: [{ class: "input", quantity: 1, price, list_nano: 1, billed_nano: 1 }],
      };
      const batch = { v: 1 as const, tenant_id: this.tenantId, session_id: this.sessionId, after_seq: seq - 1, to_seq: seq };
      const rows = rowsOf([{ ...batch, facts: [{ kind: "usage", seq, recorded_at: 0, event }] }]).usage;
      for (const sql of [ADD_TO_ROLLUPS, ADD_EVENTS]) this.db.prepare(sql).run(JSON.stringify(rows));
    }
  }

  async archive(): Promise<void> {
    const room = { events: 1_000, bytes: 1_000_000 };
    const { rows } = await eventsThrough(connect(this.stores.CATALOG), this.tenantId, this.sessionId, this.#seq, room);
    const file = await putFile(this.stores.CONTENT, this.tenantId, rows);
    if (!(await moveToArchive(this.stores.CATALOG, this.tenantId, file, rows, 1))) throw new Error("nothing was archived");
  }

  fold = (days: readonly { start: number; end: number }[] = [this.range]): Promise<number> =>
    foldIntoDays(this.stores.CATALOG, this.tenantId, days);

  /** What a report counts, by quarters and days. */
  counted(): unknown {
    const of = (table: string) => `(SELECT coalesce(sum(events), 0) FROM ${table})`;
    return this.db.prepare(`SELECT ${of("usage_rollups")} + ${of("usage_days")} AS n`).get()?.["n"];
  }

  audits = (): unknown => this.db.prepare("SELECT count(*) AS n FROM audit_events").get()?.["n"];
}

async function archived(): Promise<Ledger> {
  const ledger = new Ledger();
  ledger.record(20);
  await ledger.archive();
  await ledger.fold();
  return ledger;
}

test("a call that comes while a range is rebuilt from its files is not lost", async () => {
  const ledger = await archived();
  ledger.meanwhile = () => ledger.record(3);
  expect(await rebuildLedger(ledger.stores, ledger.range, ledger.audit)).toMatchObject({ value: { sound: true } });
  expect([ledger.counted(), ledger.audits()]).toEqual([23, 1]);
});

test("calls that are archived while a range is rebuilt or verified count once", async () => {
  const ledger = await archived();
  for (const work of [rebuildLedger, checkLedger]) {
    ledger.record(5);
    ledger.meanwhile = () => ledger.archive();
    expect(await work(ledger.stores, ledger.range, ledger.audit)).toMatchObject({ value: { sound: true, rollups: [] } });
  }
  expect([ledger.counted(), ledger.audits()]).toEqual([30, 1]);
});

test("a range that has become a part of a day meanwhile is refused and stays as it was", async () => {
  const ledger = await archived();
  ledger.record(4);
  const shifted = { start: START - DAY_MS / 2, end: START + DAY_MS / 2 };
  ledger.meanwhile = () => ledger.fold([shifted]);
  expect(await rebuildLedger(ledger.stores, ledger.range, ledger.audit)).toMatchObject({ error: { code: "invalid" } });
  expect([ledger.counted(), ledger.audits()]).toEqual([24, 0]);
});

test("a session's wrong total is told when its calls are archived and its quarters are no days yet", async () => {
  const ledger = new Ledger();
  ledger.record(20);
  await ledger.archive();
  ledger.db
    .prepare(
      `INSERT INTO sessions (id, tenant_id, status, metadata, tags, settings, message_count, token_estimate, compaction_state,
        usage_events, input_tokens, output_tokens, list_nano, billed_nano, unpriced_events, revision, seq, swept_at, created_at, updated_at)
      VALUES (?, ?, 'active', '{}', '[]', '{}', 0, 0, 'idle', 20, 20, 0, 20, 25, 0, 1, 20, 0, 0, 0)`,
    )
    .run(ledger.sessionId, ledger.tenantId);
  expect(await checkLedger(ledger.stores, ledger.range)).toMatchObject({
    value: { sound: false, rollups: [], sessions: [{ session_id: ledger.sessionId, billed: { amount: "0.000000005" } }] },
  });
});

test("events are taken in the order of their log until a file's room is taken, at least one of them", async () => {
  const ledger = new Ledger();
  ledger.record(12);
  const take = async (room: { events: number; bytes: number }) => {
    const taken = await eventsThrough(connect(ledger.stores.CATALOG), ledger.tenantId, ledger.sessionId, 9, room);
    return { seqs: taken.rows.map(({ seq }) => seq), isFull: taken.room.events <= 0 || taken.room.bytes <= 0 };
  };
  expect(await take({ events: 4, bytes: 1_000_000 })).toEqual({ seqs: [1, 2, 3, 4], isFull: true });
  expect(await take({ events: 100, bytes: 1 })).toEqual({ seqs: [1], isFull: true });
  const some = await take({ events: 100, bytes: 2_000 });
  expect([some.seqs.length > 1 && some.seqs.length < 9, some.isFull]).toEqual([true, true]);
  expect(await take({ events: 100, bytes: 1_000_000 })).toEqual({ seqs: [1, 2, 3, 4, 5, 6, 7, 8, 9], isFull: false });
});

test("a tenant that changes its time zone keeps its days, and what comes late joins them", async () => {
  const ledger = new Ledger();
  const fold = (timeZone: string, before: number) =>
    foldQuarters(ledger.stores.CATALOG, { tenantId: ledger.tenantId, timeZone, before });
  const isRefused = async (timeZone: string, start: number, end: number) => {
    const buckets = bucketsOf({ start, end }, "day", timeZone, 100) ?? [];
    return !(await readReport(ledger.stores.CATALOG, ledger.tenantId, buckets, UNGROUPED, {}, { maxRows: 1_000, after: null }))
      .ok;
  };
  for (let day = 0; day < 6; day++) ledger.record(96, START + day * DAY_MS);
  const moved = START + 3 * DAY_MS;
  await fold("UTC", moved);
  // One that is corrected, and one that is told late.
  ledger.record(1, START + DAY_MS);
  const later = START + 10 * DAY_MS;
  while ((await fold("Asia/Kathmandu", later)).more);
  expect(ledger.db.prepare("SELECT count(*) AS n FROM usage_rollups").get()?.["n"]).toBe(0);
  expect(ledger.counted()).toBe(6 * 96 + 1);
  expect(await isRefused("UTC", START, moved)).toBe(false);
  const inKathmandu = moved + 18.25 * 3_600_000;
  expect(await isRefused("Asia/Kathmandu", inKathmandu, later)).toBe(false);
  expect(await isRefused("Asia/Kathmandu", moved, inKathmandu)).toBe(false);
});

test("a report of quarters that become a day meanwhile is refused, and never shows the day as one of them", async () => {
  const ledger = new Ledger();
  ledger.record(96);
  const buckets = bucketsOf(ledger.range, "15m", "UTC", 100) ?? [];
  const ask = () => readReport(ledger.stores.CATALOG, ledger.tenantId, buckets, UNGROUPED, {}, { maxRows: 1_000, after: null });
  expect(await ask()).toMatchObject({ ok: true });
  ledger.beforeReport = () => {
    for (const sql of [SUM_UP_QUARTERS, REMOVE_QUARTERS])
      ledger.db
        .prepare(sql)
        .run(
          ...(sql === SUM_UP_QUARTERS
            ? [JSON.stringify([ledger.range]), ledger.tenantId]
            : [ledger.tenantId, START, START + DAY_MS]),
        );
  };
  expect(await ask()).toMatchObject({ error: { code: "range_too_fine" } });
});

test("a report by tag goes on while nothing is archived, and breaks off where calls were", async () => {
  const ledger = new Ledger();
  ledger.record(20);
  const byTag = { groups: [], tags: ["team"] };
  const buckets = bucketsOf(ledger.range, "day", "UTC", 100) ?? [];
  const read = (begun?: Reach) =>
    readReport(ledger.stores.CATALOG, ledger.tenantId, buckets, byTag, {}, { maxRows: 1_000, after: null }, begun);
  const begun = { since: null };
  expect(await read(begun)).toMatchObject({ ok: true, value: begun });
  await ledger.archive();
  expect(await read(begun)).toMatchObject({ error: { code: "unavailable" } });
  expect(await read()).toMatchObject({ ok: true, value: { since: expect.any(Number), rows: [] } });
});

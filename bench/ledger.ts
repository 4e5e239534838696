/**
 * The ledger at size: a million calls through the projection against plain D1 inserts, then what is done with
 * them: reports, a check, a rebuild, the archive. Times of the latter are told, not compared.
 */
import { join } from "node:path";
import { createTestHarness } from "wrangler";
import type { SessionId, TenantId } from "@sessionplane/shared/ids";
import type { ArchiveStep } from "@sessionplane/shared/ledger-archive";
import type { LedgerCheck } from "@sessionplane/shared/ledger-check";
import { type Call, caller, provisionTenant } from "../scripts/demo/client.ts";
import { progress, table } from "../scripts/demo/terminal.ts";
import { stopWith } from "../scripts/options.ts";
import { ROOT, WORKERS } from "../scripts/plane.ts";
import { RANGE, type Stretch } from "./ledger/facts.ts";
import { type Comparison, median } from "./measure.ts";

const OPERATOR_KEY = `spo_${"bench".repeat(8)}`;
const EVENTS = 1_000_000;
const SESSIONS = 100;
/** As the queue's consumer takes them: a megabyte of facts. */
const EVENTS_A_CALL = 500;
/** Of both, one after the other, so often while ours goes through all of them. */
const ROUNDS = 10;
const RAW_EVENTS = 10_000;

type Row = readonly [what: string, ms: number, more: string];

async function timed<T>(work: () => Promise<T>): Promise<readonly [T, number]> {
  const started = performance.now();
  return [await work(), performance.now() - started];
}

async function startPlane() {
  const server = createTestHarness({
    workers: [
      ...WORKERS.map((worker) => ({
        configPath: join(ROOT, "workers", worker, "wrangler.jsonc"),
        ...(worker === "api" ? { secrets: { OPERATOR_KEY } } : {}),
      })),
      { configPath: join(ROOT, "bench/baselines/wrangler.jsonc") },
    ],
  });
  const url = (await server.listen()).url.href.replace(/\/$/, "");
  await server.getWorker().applyD1Migrations("CATALOG");
  const bench = server.getWorker<{ CATALOG: D1Database; PLANE: D1Database }>("sessionplane-bench");
  const { CATALOG, PLANE } = await bench.getEnv();
  await CATALOG.prepare(
    "CREATE TABLE raw_events (tenant TEXT, session TEXT, id TEXT, event TEXT, PRIMARY KEY (tenant, session, id)) STRICT",
  ).run();
  const operator = caller(url, OPERATOR_KEY);
  const sessionDo = server.getWorker("sessionplane-session-do");
  return {
    server,
    operator,
    url,
    /** Events that the worker makes and stores, ours or plain. */
    store: async (how: "ledger" | "raw-ledger", stretch: Stretch): Promise<void> => {
      const response = await bench.fetch(`http://bench/${how}`, { method: "POST", body: JSON.stringify(stretch) });
      if (!response.ok) throw new Error(`${how}: ${response.status} ${await response.text()}`);
      await response.arrayBuffer();
    },
    /** D1's size in bytes. */
    size: async (): Promise<number> => (await PLANE.prepare("SELECT 1").run()).meta.size_after,
    /** The object says that the catalog has all of its log: its events did not come from it. */
    confirmAll: async (tenant: string, session: string): Promise<void> => {
      const name = `${tenant}:${session}`;
      const storage = await sessionDo.getDurableObjectStorage("SESSION", { name });
      await storage.exec("UPDATE session SET projected_seq = 1000000000");
      await sessionDo.evictDurableObject("SESSION", { name });
    },
  };
}

type Plane = Awaited<ReturnType<typeof startPlane>>;

async function fill(
  plane: Plane,
  all: Omit<Stretch, "from" | "count">,
  raw: Omit<Stretch, "from" | "count">,
): Promise<Comparison> {
  const store = async (how: "ledger" | "raw-ledger", stretch: Omit<Stretch, "from" | "count">, from: number, count: number) => {
    for (let at = from; at < from + count; at += EVENTS_A_CALL)
      await plane.store(how, { ...stretch, from: at, count: Math.min(EVENTS_A_CALL, from + count - at) });
  };
  const share = all.total / ROUNDS;
  const rates: { ours: number; raw: number; ms: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const [, ours] = await timed(() => store("ledger", all, round * share, share));
    const [, plain] = await timed(() => store("raw-ledger", raw, round * RAW_EVENTS, RAW_EVENTS));
    rates.push({ ours: (share * 1_000) / ours, raw: (RAW_EVENTS * 1_000) / plain, ms: ours });
    progress("events", (round + 1) * share, all.total);
  }
  const ours = median(rates.map((rate) => rate.ours));
  const plain = median(rates.map((rate) => rate.raw));
  return {
    name: "ledger_vs_raw_d1",
    ratio: ours / plain,
    ours_ms: (EVENTS_A_CALL * 1_000) / ours,
    baseline_ms: (EVENTS_A_CALL * 1_000) / plain,
    ...{ ours_per_s: ours, baseline_per_s: plain },
    size: `${EVENTS_A_CALL} events of ${all.total.toLocaleString("en")}; ours keeps rollups and two indexes too, the baseline inserts one row an event in a D1 batch`,
    repetitions: ROUNDS,
  };
}

/** Of whole days: what old usage is kept by. */
const BY_DAY = ["bucket=month&group_by=model", "bucket=day&group_by=user,model", "bucket=day&group_by=session"];
const CUT = "bucket=month&start=2026-06-01T00:07:00Z";

async function reports(operator: Call, tenant: string, queries: readonly string[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const query of queries) {
    const range = query.includes("start=") ? `end=${RANGE.end}` : `start=${RANGE.start}&end=${RANGE.end}`;
    const path = `/v1/reports/cost?tenant_id=${tenant}&${range}&${query}`;
    const [report, ms] = await timed(() => operator<{ data: object[]; totals: { events: number } }>("GET", path));
    rows.push([`report ${query}`, ms, `${report.data.length} rows of ${report.totals.events.toLocaleString("en")} events`]);
  }
  return rows;
}

async function checks(operator: Call, tenant: string, when: string): Promise<Row[]> {
  const rows: Row[] = [];
  const body = { tenant_id: tenant, start: RANGE.start, end: "2026-07-01T00:00:00.000Z" };
  for (const call of ["verify", "rebuild"] as const) {
    const [check, ms] = await timed(() => operator<LedgerCheck>("POST", `/v1/ledger/${call}`, body));
    if (check.rollups.length > 0) throw new Error(`${call} found differences`);
    rows.push([`${call} of half of it, ${when}`, ms, ""]);
  }
  return rows;
}

async function archive(operator: Call, tenant: string): Promise<Row> {
  const [steps, ms] = await timed(async () => {
    const all: ArchiveStep[] = [];
    do {
      const cursor = all.at(-1)?.next_cursor ?? undefined;
      all.push(await operator<ArchiveStep>("POST", "/v1/ledger/archive", { tenant_id: tenant, before: RANGE.end, cursor }));
    } while (all.at(-1)?.has_more);
    return all;
  });
  const events = steps.reduce((sum, step) => sum + step.events, 0);
  const rate = Math.round((events * 1_000) / ms).toLocaleString("en");
  return ["archive, and days of quarters", ms, `${events.toLocaleString("en")} events in ${steps.length} steps, ${rate}/s`];
}

export async function ledger(parts: readonly string[], print: (text: string) => void): Promise<Comparison[]> {
  const total = Number(parts[0] ?? EVENTS);
  if (!Number.isInteger(total) || total < ROUNDS * 1_000 || total % (ROUNDS * 1_000) !== 0)
    stopWith(`ledger takes a number of events in tens of thousands, ${EVENTS} when none is given.`);
  const plane = await startPlane();
  try {
    const { operator } = plane;
    const tenant = await provisionTenant(operator, plane.url, "bench", {});
    const sessions: string[] = [];
    for (let count = 0; count < SESSIONS; count++)
      sessions.push((await tenant.call<{ id: string }>("POST", "/v1/sessions", {})).id);
    const all = { tenant: tenant.id as TenantId, sessions: sessions as SessionId[], total };
    const before = await plane.size();
    const stored = await fill(plane, all, { ...all, total: ROUNDS * RAW_EVENTS });
    const bytes = (await plane.size()) - before;
    for (const session of sessions) await plane.confirmAll(tenant.id, session);
    const rows: Row[] = [
      ["events, with rollups", stored.ours_ms * (total / EVENTS_A_CALL), `${Math.round(bytes / total)} bytes of D1 an event`],
      ...(await reports(operator, tenant.id, [...BY_DAY, CUT])),
      ...(await checks(operator, tenant.id, "in the catalog")),
      await archive(operator, tenant.id),
      ...(await reports(operator, tenant.id, BY_DAY)),
      ...(await checks(operator, tenant.id, "in files")),
    ];
    print(
      `\n${table(
        ["what", "ms", ""],
        rows.map(([what, ms, more]) => [what, Math.round(ms), more]),
      )}\n`,
    );
    return [stored];
  } finally {
    await plane.server.close();
  }
}

/** `npm run ledger` as it is run in a terminal, on the real plane. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Plane, type Tenant, startPlane, text, until } from "../support/harness.ts";

const SCRIPT = join(import.meta.dirname, "../../scripts/ledger.ts");
const MARCH = ["--start", "2026-03-01", "--end", "2026-04-01"];

let plane: Plane;
let tenant: Tenant;
let session: string;

beforeAll(async () => {
  plane = await startPlane();
  tenant = await plane.tenant();
  await plane.addPrices("acme", "m", { input: "0.15", output: "0.6" });
  session = await plane.session(tenant);
  await tenant.call("POST", `/v1/sessions/${session}/messages`, { message: text("q", "user", "q") });
  const call = { provider: "acme", model: "m", usage: { input: 1_003, output: 7 }, occurred_at: "2026-03-02T00:00:00Z" };
  const events = [
    { ...call, id: "a", message_id: "q", user_id: "ann", tags: { team: "red" } },
    { ...call, id: "b", model: "unheard-of" },
  ];
  await tenant.call("POST", `/v1/sessions/${session}/usage`, { events });
});
afterAll(() => plane.close());

type Ended = { readonly code: number; readonly out: string; readonly err: string };

async function ledger(words: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const of = { SESSIONPLANE_URL: plane.url.href, SESSIONPLANE_KEY: plane.operatorKey, ...env };
  return new Promise((done) => {
    execFile(process.execPath, [SCRIPT, ...words], { env: { ...process.env, ...of } }, (error, out, err) => {
      done({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

/** The first column's value, and the words of the line that it begins. */
const lineOf = (out: string, first: string): string[] =>
  out
    .split("\n")
    .find((line) => line.startsWith(first))
    ?.split(/\s+/) ?? [];

test("an exact report by tag is a table, CSV or NDJSON", async () => {
  const asked = ["report", "--exact", "--tenant", tenant.id, "--group", "model,tag.team", ...MARCH];
  const { code, out } = await ledger(asked);
  expect([code, lineOf(out, "2026-03-01").slice(1)]).toEqual([0, ["m", "red", "1", "0.000154650"]]);
  expect(out).toContain("2 events, 0.000154650 USD, 1 without a price.");
  const csv = await ledger([...asked, "--format", "csv"]);
  expect(csv.out.trimEnd().split("\r\n")).toHaveLength(3);
  const ndjson = await ledger([...asked, "--format", "ndjson"]);
  expect(JSON.parse(ndjson.out.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ totals: { events: 2 } });
});

test("a session is explained and its cost split, by its id alone", async () => {
  // Whose it is, an operator's key learns from the catalog.
  const explained = await ledger(["explain", "--session", session]);
  expect(explained.code).toBe(0);
  expect(lineOf(explained.out, "m ").slice(0, 5)).toEqual(["m", "1", "input", "1003", "0.15"]);
  expect(explained.out).toContain("no price");
  expect(explained.out).toContain("2 events and 0 corrections: list 0.000154650 USD");
  const { code, out } = await ledger(["cost", session]);
  expect([code, lineOf(out, "total").slice(1)]).toEqual([0, ["2", "2006", "14", "1", "0.000154650"]]);
  expect(lineOf(out, "q (active)")).toEqual(["q", "(active)", "1", "0.000154650", "0.000154650"]);
  expect(lineOf(out, "ann")).toEqual(["ann", "0.000154650", "0.000000000"]);
  expect(out).toContain("1 events at no message of it");
});

test("old events are archived, and their costs stand", async () => {
  await until("the catalog to have confirmed it", async () => {
    const { out } = await ledger(["archive", "--tenant", tenant.id, "--before", "2026-04-01"]);
    return out.includes("2 events went to 1 files") && out.includes(".ndjson.gz");
  });
  const { out } = await ledger(["report", "--tenant", tenant.id, ...MARCH]);
  expect(out).toContain("2 events, 0.000154650 USD, 1 without a price.");
  expect((await ledger(["verify", "--tenant", tenant.id, ...MARCH])).out).toBe("All sums are those of their events.\n");
  const fine = await ledger(["report", "--tenant", tenant.id, "--bucket", "hour", ...MARCH]);
  expect([fine.code, fine.err]).toEqual([1, expect.stringMatching(/kept as one day.*\(range_too_fine\)/)]);
});

test("what can't be done is said in a sentence, with 1", async () => {
  for (const [words, sentence] of [
    [["report", "--exact", ...MARCH], /an operator names a tenant\. \(too_many_sessions\)/],
    [["report", "--format", "xml", ...MARCH], /--format is table, csv or ndjson, not xml/],
    [["report", "--group", "region", ...MARCH], /groups are .*tag\.KEY/],
    [["report", "--start", "someday"], /someday is no day and no instant/],
    [["cost"], /cost needs the id of a session/],
    [["explain"], /explain needs the id of an event, or --session/],
    [["cost", "ses_none"], /\(not_found\)/],
    [["archive"], /archive needs --tenant/],
    [["archive", "--tenant", tenant.id, "--before", "2999-01-01"], /is in the future/],
    [["sum"], /there is no command sum/],
  ] as const) {
    const { code, err, out } = await ledger(words);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(sentence);
  }
  const nobody = await ledger(["cost", session], { SESSIONPLANE_URL: "http://127.0.0.1:9" });
  expect(nobody.err).toMatch(/does not answer/);
  expect((await ledger(["--help"])).out).toContain("npm run ledger -- cost SES");
});

test("days are the tenant's own, also once its usage is kept by day", async () => {
  const other = await plane.tenant({ billing_timezone: "Asia/Kathmandu" });
  const own = await plane.session(other);
  const event = { provider: "acme", model: "m", usage: { input: 1_000_000 } };
  const events = ["2026-02-28T18:20:00Z", "2026-03-31T18:10:00Z", "2026-03-31T18:20:00Z"].map((at) => ({
    ...event,
    occurred_at: at,
  }));
  await other.call("POST", `/v1/sessions/${own}/usage`, { events });
  const march = ["--tenant", other.id, ...MARCH];
  expect((await ledger(["report", "--exact", ...march])).out).toContain("2 events, 0.300000000 USD");
  await until("them to be archived", async () => {
    const { out } = await ledger(["archive", "--tenant", other.id, "--before", "2026-04-02"]);
    return out.includes(".ndjson.gz");
  });
  expect((await ledger(["report", ...march])).out).toContain("2 events, 0.300000000 USD");
  expect((await ledger(["verify", ...march])).out).toBe("All sums are those of their events.\n");
  const utc = await ledger(["verify", ...march, "--zone", "UTC"]);
  expect([utc.code, utc.err]).toEqual([1, expect.stringMatching(/cuts the day/)]);
  expect((await ledger(["report", ...march, "--zone", "Mars"])).err).toMatch(/Mars is no time zone/);
});

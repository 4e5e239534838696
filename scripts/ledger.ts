/** `npm run ledger`: what calls cost, why, and whether the sums are right, as tables in a terminal. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { MAX_LEDGER_CHECK_DAYS, type LedgerCheck } from "@sessionplane/shared/ledger-check";
import type { Money } from "@sessionplane/shared/money";
import type { CostRow } from "@sessionplane/shared/report";
import type { ExplainedUsage } from "@sessionplane/shared/usage-event";
import { progress, table } from "./demo/terminal.ts";
import { readOptions, stopWith } from "./options.ts";
import { PLANE_FOLDER } from "./plane.ts";

const HELP = `
What calls cost, why, and whether the sums are right.

  npm run ledger -- report  [--start DAY] [--end DAY] [--bucket B] [--group G,G] [--tenant TEN] [--zone Z]
  npm run ledger -- explain EVENT [--session SES] [--tenant TEN]
  npm run ledger -- verify  --tenant TEN [--start DAY] [--end DAY]
  npm run ledger -- rebuild --tenant TEN [--start DAY] [--end DAY]

  DAY   2026-01-31, or an instant with its zone. The end is not in the range. This month, when left out.
  B     15m, hour, day, month (the default)
  G     tenant, user, session, model, provider, purpose, token_class. By model, when left out.

Asks the plane that npm start runs here, or the one that SESSIONPLANE_URL and SESSIONPLANE_KEY name.
verify ends with 1 when a sum is wrong; rebuild makes the sums that reports read of the events again.
`;

const options = readOptions(HELP, {
  ...{ start: { type: "string" }, end: { type: "string" }, bucket: { type: "string" }, group: { type: "string" } },
  ...{ tenant: { type: "string" }, zone: { type: "string" }, session: { type: "string" } },
});
const { values } = options;

type Target = { readonly url: string; readonly key: string };

function target(): Target {
  const { SESSIONPLANE_URL: url, SESSIONPLANE_KEY: key } = process.env;
  if (url !== undefined && key !== undefined) return { url, key };
  if (url !== undefined || key !== undefined) stopWith("give both SESSIONPLANE_URL and SESSIONPLANE_KEY, or neither.");
  const file = join(PLANE_FOLDER, "dev.json");
  if (!existsSync(file)) stopWith("no plane is running here. Start one with npm start, or name one: see --help.");
  const local = JSON.parse(readFileSync(file, "utf8")) as { url: string; operator_key: string };
  return { url: local.url, key: local.operator_key };
}

const plane = target();

async function ask<T>(method: "GET" | "POST", path: string, body?: object): Promise<T> {
  const headers = { Authorization: `Bearer ${plane.key}`, "Content-Type": "application/json" };
  const request = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await fetch(new URL(path, plane.url), request).catch(() => stopWith(`${plane.url} does not answer.`));
  const reply: unknown = await response.json();
  if (response.ok) return reply as T;
  const { detail, code } = reply as { detail: string; code: string };
  return stopWith(`${detail} (${code})`);
}

/** The start of a month, UTC: so many after this one. */
const month = (after: number): Date => new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + after, 1));

function instant(given: string | undefined, otherwise: Date): Date {
  const read = given === undefined ? otherwise : new Date(given);
  return Number.isNaN(read.getTime()) ? stopWith(`${given} is no day and no instant.`) : read;
}

const range = { start: instant(values.start, month(0)), end: instant(values.end, month(1)) };
const query = (fields: Record<string, string | undefined>): string =>
  new URLSearchParams(Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))).toString();
const amount = (money: Money | null): string => money?.amount ?? "no price";
const print = (text: string) => void process.stdout.write(`${text}\n`);

type Report = { data: CostRow[]; totals: { cost: Money; events: number; unpriced_events: number }; as_of: string };

async function report(): Promise<void> {
  const groups = (values.group ?? "model").split(",").filter((name) => name !== "");
  const asked = query({
    ...{ start: range.start.toISOString(), end: range.end.toISOString(), bucket: values.bucket ?? "month" },
    ...{ group_by: groups.join(",") || undefined, tenant_id: values.tenant, timezone: values.zone },
  });
  const { data, totals, as_of: asOf } = await ask<Report>("GET", `/v1/reports/cost?${asked}`);
  const cell = (row: CostRow, name: string) => {
    const value = Object.entries(row).find(([key]) => key === name || key === `${name}_id`)?.[1];
    return typeof value === "string" ? value : "-";
  };
  const rows = data.map((row) => [row.start, ...groups.map((name) => cell(row, name)), row.events ?? "-", amount(row.cost)]);
  print(table(["from", ...groups, "events", "USD"], rows));
  print(`\n${totals.events} events, ${amount(totals.cost)} USD, ${totals.unpriced_events} without a price. As of ${asOf}.`);
}

/** Whose price it is: of a list, where an alias led to it of another model; or none, and the provider's word. */
function sourceOf({ price, list }: ExplainedUsage["lines"][number]): string {
  if (price === null) return list === null ? "-" : "the provider";
  return price.model === undefined ? price.source : `${price.source}, as ${price.provider}/${price.model}`;
}

async function explain(): Promise<void> {
  const id = options.positionals[1] ?? stopWith(`explain needs the id of an event.\n${HELP}`);
  const asked = query({ session_id: values.session, tenant_id: values.tenant });
  const event = await ask<ExplainedUsage>("GET", `/v1/usage-events/${encodeURIComponent(id)}/explain?${asked}`);
  const rows = event.lines.map((line) => [
    ...[line.class, line.quantity, line.price?.usd_per_million ?? "no price"],
    ...[line.price?.effective_from ?? "-", sourceOf(line), amount(line.list)],
  ]);
  print(table(["class", "tokens", "USD per million", "since", "source", "USD"], rows));
  print(`\nlist ${amount(event.list_cost)} USD, billed ${amount(event.cost)} USD`);
  for (const why of event.inconsistent) print(`does not add up: ${why}`);
}

const DAYS_MS = MAX_LEDGER_CHECK_DAYS * 86_400_000;

async function check(call: "verify" | "rebuild"): Promise<void> {
  const tenant = values.tenant ?? stopWith(`${call} needs --tenant.\n${HELP}`);
  const starts: number[] = [];
  for (let at = range.start.getTime(); at < range.end.getTime(); at += DAYS_MS) starts.push(at);
  const found: LedgerCheck[] = [];
  for (const [index, at] of starts.entries()) {
    const end = new Date(Math.min(at + DAYS_MS, range.end.getTime())).toISOString();
    const part = { tenant_id: tenant, start: new Date(at).toISOString(), end };
    found.push(await ask<LedgerCheck>("POST", `/v1/ledger/${call}`, part));
    progress(call, index + 1, starts.length);
  }
  const rollups = found.flatMap((part) => part.rollups);
  const sessions = new Map(found.flatMap((part) => part.sessions).map((one) => [one.session_id, one]));
  const cells = rollups.map((one) => [one.start, one.session_id, one.model, one.class, one.quantity, amount(one.billed)]);
  if (cells.length > 0) print(table(["from", "session", "model", "class", "tokens more", "USD more"], cells));
  if (sessions.size > 0)
    print(
      table(
        ["session", "USD more"],
        [...sessions.values()].map((one) => [one.session_id, amount(one.billed)]),
      ),
    );
  const isSound = found.every((part) => part.sound);
  print(
    isSound
      ? "All sums are those of their events."
      : "\nSums differ from their events: npm run ledger -- rebuild, and for sessions POST /v1/operations/repair.",
  );
  if (!isSound) process.exitCode = 1;
}

const [command] = options.positionals;
if (command === "report") await report();
else if (command === "explain") await explain();
else if (command === "verify" || command === "rebuild") await check(command);
else stopWith(`there is no command ${command ?? "without a name"}.\n${HELP}`);

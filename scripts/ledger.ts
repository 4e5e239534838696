/** `npm run ledger`: what calls cost, why, and whether the sums are right, as tables in a terminal. */
import { pipeline } from "node:stream/promises";
import type { ExplainedCost } from "@sessionplane/shared/explained-cost";
import type { ArchiveStep, UsageArchive } from "@sessionplane/shared/ledger-archive";
import { MAX_LEDGER_CHECK_DAYS, type LedgerCheck } from "@sessionplane/shared/ledger-check";
import type { Money } from "@sessionplane/shared/money";
import { type CostRow, type ReportFrame, TAG_PREFIX } from "@sessionplane/shared/report";
import type { SessionUsage } from "@sessionplane/shared/session";
import type { SessionCost } from "@sessionplane/shared/session-cost";
import type { ExplainedUsage } from "@sessionplane/shared/usage-event";
import { bucketsOf } from "../workers/api/src/reports/buckets.ts";
import { progress, table } from "./demo/terminal.ts";
import { ask, send } from "./ledger/ask.ts";
import { askedInstant, askedRange } from "./ledger/range.ts";
import { readOptions, stopWith } from "./options.ts";

const HELP = `
What calls cost, why, and whether the sums are right.

  npm run ledger -- report  [--start DAY] [--end DAY] [--bucket B] [--group G,G] [--tenant TEN] [--zone Z] [--exact] [--format F]
  npm run ledger -- explain EVENT [--session SES] [--tenant TEN]
  npm run ledger -- explain --session SES [--tenant TEN]
  npm run ledger -- cost SES [--tenant TEN]
  npm run ledger -- verify  --tenant TEN [--start DAY] [--end DAY] [--zone Z]
  npm run ledger -- rebuild --tenant TEN [--start DAY] [--end DAY] [--zone Z]
  npm run ledger -- archive --tenant TEN [--before DAY] [--zone Z]

  DAY   2026-01-31 in the zone, or an instant. The end is not in the range. This month, when left out.
  Z     a time zone, such as Europe/Prague. The tenant's billing_timezone, or UTC, when left out.
  B     15m, hour, day, month (the default)
  G     tenant, user, session, model, provider, purpose, token_class, tag.KEY. By model, when left out.
  F     table (the default), csv or ndjson: any number of rows, to standard output as they come

Asks the plane that npm start runs here, or the one that SESSIONPLANE_URL and SESSIONPLANE_KEY name.
report --exact asks the sessions first, so that nothing lags; an operator's key names a tenant with it.
explain without an event shows the whole session by model, class and price; cost splits what it cost.
verify ends with 1 when a sum is wrong; rebuild makes the sums that reports read of the events again.
archive moves events of before a day to files in R2 and keeps their sums by day of the tenant's time zone; what
the plane itself archives by now, when no day is given.
`;

const options = readOptions(HELP, {
  ...{ start: { type: "string" }, end: { type: "string" }, bucket: { type: "string" }, group: { type: "string" } },
  ...{ tenant: { type: "string" }, zone: { type: "string" }, session: { type: "string" } },
  ...{ exact: { type: "boolean" }, format: { type: "string" }, before: { type: "string" } },
});
const { values } = options;

const query = (fields: Record<string, string | undefined>): string =>
  new URLSearchParams(Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))).toString();
const amount = (money: Money | null): string => money?.amount ?? "no price";
const print = (text: string) => void process.stdout.write(`${text}\n`);

type Report = { data: CostRow[] } & ReportFrame;

const STREAMS: ReadonlyMap<string, string> = new Map([
  ["csv", "text/csv"],
  ["ndjson", "application/x-ndjson"],
]);

/** As it comes, in constant memory. */
async function printStream(path: string, accept: string): Promise<void> {
  const { body } = await send(path, { accept });
  if (body === null) return;
  try {
    await pipeline(body, process.stdout, { end: false });
  } catch (error) {
    // Whoever reads it has seen enough.
    if (error instanceof Error && "code" in error && error.code === "EPIPE") return;
    stopWith("the report broke off: what was printed is not all of it. Ask again.");
  }
}

function cellOf(row: CostRow, name: string): string {
  if (name.startsWith(TAG_PREFIX)) return row.tags?.[name.slice(TAG_PREFIX.length)] ?? "-";
  const value = Object.entries(row).find(([key]) => key === name || key === `${name}_id`)?.[1];
  return typeof value === "string" ? value : "-";
}

async function report(): Promise<void> {
  const { start, end, zone } = await askedRange(values);
  const asked = query({
    ...{ start: start.toISOString(), end: end.toISOString(), bucket: values.bucket ?? "month" },
    ...{ group_by: (values.group ?? "model") || undefined, tenant_id: values.tenant, timezone: zone },
    exact: values.exact === true ? "1" : undefined,
  });
  const path = `/v1/reports/cost?${asked}`;
  const format = values.format ?? "table";
  const accept = STREAMS.get(format);
  if (accept !== undefined) return printStream(path, accept);
  if (format !== "table") stopWith(`--format is table, csv or ndjson, not ${format}.`);
  const { data, group_by: groups, totals, as_of: asOf } = await ask<Report>(path);
  const rows = data.map((row) => [row.start, ...groups.map((name) => cellOf(row, name)), row.events ?? "-", amount(row.cost)]);
  print(table(["from", ...groups, "events", "USD"], rows));
  print(`\n${totals.events} events, ${amount(totals.cost)} USD, ${totals.unpriced_events} without a price. As of ${asOf}.`);
}

type Line = Pick<ExplainedUsage["lines"][number], "class" | "quantity" | "price" | "list">;
/** Whose price it is: of a list, where an alias led to it of another model; or none, and the provider's word. */
function sourceOf({ price, list }: Line): string {
  if (price === null) return list === null ? "-" : "the provider";
  return price.model === undefined ? price.source : `${price.source}, as ${price.provider}/${price.model}`;
}

const PRICE_HEADS = ["class", "tokens", "USD per million", "since", "source", "USD"];
const priceCells = (line: Line) => [
  ...[line.class, line.quantity, line.price?.usd_per_million ?? "no price"],
  ...[line.price?.effective_from ?? "-", sourceOf(line), amount(line.list)],
];

async function explainEvent(id: string): Promise<void> {
  const asked = query({ session_id: values.session, tenant_id: values.tenant });
  const event = await ask<ExplainedUsage>(`/v1/usage-events/${encodeURIComponent(id)}/explain?${asked}`);
  print(table(PRICE_HEADS, event.lines.map(priceCells)));
  print(`\nlist ${amount(event.list_cost)} USD, billed ${amount(event.cost)} USD`);
  for (const why of event.inconsistent) print(`does not add up: ${why}`);
}

async function explainSession(id: string): Promise<void> {
  const path = `/v1/sessions/${encodeURIComponent(id)}/usage/explain?${query({ tenant_id: values.tenant })}`;
  const { lines, totals } = await ask<ExplainedCost>(path);
  print(
    table(
      ["model", "events", ...PRICE_HEADS],
      lines.map((line) => [line.model, line.events, ...priceCells(line)]),
    ),
  );
  print(
    `\n${totals.events} events and ${totals.adjustments} corrections: list ${amount(totals.list_cost)} USD, billed ${amount(totals.cost)} USD`,
  );
}

async function explain(): Promise<void> {
  const [, event] = options.positionals;
  if (event !== undefined) return explainEvent(event);
  return explainSession(values.session ?? stopWith(`explain needs the id of an event, or --session.\n${HELP}`));
}

const usageCells = (usage: SessionUsage) => [
  usage.events,
  usage.input_tokens,
  usage.output_tokens,
  usage.unpriced_events,
  amount(usage.cost),
];
const USAGE_HEADS = ["events", "input", "output", "no price", "USD"];

async function cost(): Promise<void> {
  const id = options.positionals[1] ?? values.session ?? stopWith(`cost needs the id of a session.\n${HELP}`);
  const path = `/v1/sessions/${encodeURIComponent(id)}/cost?${query({ tenant_id: values.tenant })}`;
  const split = await ask<SessionCost>(path);
  const { own, compaction, descendants, total } = split;
  const parts = [
    ["its own calls", ...usageCells(own)],
    ["its compaction", ...usageCells(compaction)],
  ];
  const came = `${descendants.sessions} forked or split from it`;
  print(table(["", ...USAGE_HEADS], [...parts, [came, ...usageCells(descendants)], ["total", ...usageCells(total)]]));
  const users = split.by_user.map((one) => [one.user_id ?? "-", amount(one.own.cost), amount(one.compaction.cost)]);
  if (users.length > 0) print(`\n${table(["user", "USD", "compaction"], users)}`);
  const branches = split.by_branch.map(({ leaf_id: leaf, active, on_path: on, only_here: only }) => [
    ...[active ? `${leaf} (active)` : leaf, on.events, amount(on.cost), amount(only.cost)],
  ]);
  if (branches.length > 0) print(`\n${table(["branch to", "events", "USD", "here alone"], branches)}`);
  if (split.has_more) print("There are more branches: these are the newest.");
  print(
    `\n${split.unattached.events} events at no message of it, ${amount(split.unattached.cost)} USD. Others as of ${split.as_of}.`,
  );
}

/** Whole days of the zone: one of them is longer than 24 hours where clocks go back. */
const DAYS_A_CHECK = MAX_LEDGER_CHECK_DAYS - 1;

async function check(call: "verify" | "rebuild"): Promise<void> {
  const tenant = values.tenant ?? stopWith(`${call} needs --tenant.\n${HELP}`);
  const { start: first, end: last, zone } = await askedRange(values);
  const days = bucketsOf({ start: first.getTime(), end: last.getTime() }, "day", zone, Infinity) ?? [];
  const starts = days.filter((_, index) => index % DAYS_A_CHECK === 0).map(({ start }) => start);
  const found: LedgerCheck[] = [];
  for (const [index, at] of starts.entries()) {
    const end = new Date(starts[index + 1] ?? last).toISOString();
    const part = { tenant_id: tenant, start: new Date(at).toISOString(), end };
    found.push(await ask<LedgerCheck>(`/v1/ledger/${call}`, { method: "POST", body: part }));
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

async function archive(): Promise<void> {
  const tenant = values.tenant ?? stopWith(`archive needs --tenant.\n${HELP}`);
  const before = values.before === undefined ? {} : { before: (await askedInstant(values.before, values)).toISOString() };
  const sum = { files: 0, events: 0, quarters: 0 };
  let cursor: { cursor?: string } = {};
  for (let more = true; more;) {
    const body = { tenant_id: tenant, ...before, ...cursor };
    const step: ArchiveStep = await ask("/v1/ledger/archive", { method: "POST", body });
    cursor = step.next_cursor === null ? {} : { cursor: step.next_cursor };
    sum.files += step.files;
    sum.events += step.events;
    sum.quarters += step.quarters;
    more = step.has_more;
    if (more) process.stderr.write(`${sum.events} events in ${sum.files} files\n`);
    else if (step.waiting > 0) print(`${step.waiting} sessions wait for the catalog: ask again later for theirs.`);
  }
  const { data } = await ask<{ data: UsageArchive[] }>(`/v1/ledger/archives?${query({ tenant_id: tenant })}`);
  const rows = data.map((file) => [
    file.key,
    file.events,
    file.bytes,
    file.first_occurred_at,
    file.last_occurred_at,
    amount(file.cost),
  ]);
  if (rows.length > 0) print(table(["file in R2, the newest first", "events", "bytes", "from", "to", "USD"], rows));
  print(`\n${sum.events} events went to ${sum.files} files, and ${sum.quarters} sums of quarters of an hour to days.`);
}

const [command] = options.positionals;
if (command === "report") await report();
else if (command === "explain") await explain();
else if (command === "cost") await cost();
else if (command === "archive") await archive();
else if (command === "verify" || command === "rebuild") await check(command);
else stopWith(`there is no command ${command ?? "without a name"}.\n${HELP}`);

/** Reports as CSV with fixed columns (RFC 4180). Pure. */
import { COUNTED_UNITS, TOKEN_CLASSES } from "@sessionplane/shared/price";
import type { CostRow, UsageRow } from "@sessionplane/shared/report";

const CLASSES = [...TOKEN_CLASSES, ...COUNTED_UNITS];
const KEYS = ["start", "end", "tenant_id", "user_id", "session_id", "model", "provider", "purpose", "token_class"] as const;

/** A spreadsheet would run a cell that begins with one of these; the quote makes it text. */
const FORMULA = /^[=+\-@\t\r]/;

function cell(value: string | number | null | undefined): string {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = typeof value === "string" && FORMULA.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const line = (cells: readonly (string | number | null | undefined)[]): string => `${cells.map(cell).join(",")}\r\n`;

const keyCells = (row: UsageRow | CostRow) => KEYS.map((key) => row[key]);

export const usageCsv = (rows: readonly UsageRow[]): string =>
  [
    line([...KEYS, "events", ...CLASSES]),
    ...rows.map((row) => line([...keyCells(row), row.events, ...CLASSES.map((name) => row.quantities[name] ?? 0)])),
  ].join("");

export const costCsv = (rows: readonly CostRow[]): string =>
  [
    line([...KEYS, "events", "list_cost", "cost", "currency", "unpriced_events"]),
    ...rows.map((row) =>
      line([...keyCells(row), row.events, row.list_cost.amount, row.cost.amount, row.cost.currency, row.unpriced_events]),
    ),
  ].join("");

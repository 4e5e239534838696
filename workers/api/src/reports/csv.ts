/** Reports as CSV with fixed columns (RFC 4180). Pure. */
import { COUNTED_UNITS, TOKEN_CLASSES } from "@sessionplane/shared/price";
import type { CostRow, UsageRow } from "@sessionplane/shared/report";

const CLASSES = [...TOKEN_CLASSES, ...COUNTED_UNITS];
const KEYS = ["start", "end", "tenant_id", "user_id", "session_id", "model", "provider", "purpose", "token_class"] as const;

/** A spreadsheet would run a cell that begins with one of these; the quote makes it text. */
const FORMULA = /^[=+\-@\t\r]/;

type Cell = string | number | null | undefined;

function cell(value: Cell): string {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = typeof value === "string" && FORMULA.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const line = (cells: readonly Cell[]): string => `${cells.map(cell).join(",")}\r\n`;

const keyCells = (row: UsageRow | CostRow): Cell[] => KEYS.map((key) => row[key]);
/** The last column, whatever the keys: an object as JSON. */
const tagsCell = ({ tags }: UsageRow | CostRow): Cell => (tags === undefined ? "" : JSON.stringify(tags));

export const USAGE_CSV = {
  head: line([...KEYS, "events", ...CLASSES, "tags"]),
  line: (row: UsageRow): string =>
    line([...keyCells(row), row.events, ...CLASSES.map((name) => row.quantities[name] ?? 0), tagsCell(row)]),
};

export const COST_CSV = {
  head: line([...KEYS, "events", "list_cost", "cost", "currency", "unpriced_events", "tags"]),
  line: (row: CostRow): string => {
    const { events, list_cost: list, cost, unpriced_events: unpriced } = row;
    return line([...keyCells(row), events, list.amount, cost.amount, cost.currency, unpriced, tagsCell(row)]);
  },
};

import { describe, expect, test } from "vitest";
import { formatMoney } from "@sessionplane/shared/money";
import type { CostRow, UsageRow } from "@sessionplane/shared/report";
import { COST_CSV, USAGE_CSV } from "./csv.ts";

const usageCsv = (rows: UsageRow[]) => USAGE_CSV.head + rows.map(USAGE_CSV.line).join("");
const costCsv = (rows: CostRow[]) => COST_CSV.head + rows.map(COST_CSV.line).join("");
const keys = { start: "2026-01-01T00:00:00.000Z", end: "2026-01-02T00:00:00.000Z" };

describe("a report as CSV", () => {
  test("has the same columns whatever the grouping", () => {
    const [header, line] = usageCsv([{ ...keys, model: "gpt-4o", events: 2, quantities: { input: 5 } }]).split("\r\n");
    expect(line?.split(",")).toHaveLength(header?.split(",").length ?? 0);
    expect(header).toMatch(/^start,end,tenant_id,user_id,session_id,model,provider,purpose,token_class,events,input,/);
    expect(usageCsv([])).toBe(`${header}\r\n`);
  });

  test("shows tags as JSON in the last column", () => {
    const tags = { team: 'a "b", c', none: null };
    const [header, line] = usageCsv([{ ...keys, tags, events: 1, quantities: {} }]).split("\r\n");
    expect(header).toMatch(/,tags$/);
    expect(line).toContain(`,"${JSON.stringify(tags).replaceAll('"', '""')}"`);
  });

  test("quotes what would break a cell and disarms what a spreadsheet would run", () => {
    const [, line] = costCsv([
      {
        ...{ ...keys, user_id: '=HYPERLINK("x")', model: "a,b", provider: "@p" },
        ...{ events: null, list_cost: formatMoney(1), cost: formatMoney(2), unpriced_events: null },
      },
    ]).split("\r\n");
    expect(line).toContain(`"'=HYPERLINK(""x"")"`);
    expect(line).toContain('"a,b"');
    expect(line).toContain("'@p");
    expect(line).toContain("0.000000001,0.000000002,USD");
  });
});

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SQLiteSyncDialect } from "drizzle-orm/sqlite-core";
import { expect, test } from "vitest";
import { newId } from "@sessionplane/shared/ids";
import { conditionsOf } from "./prices.ts";

const MIGRATIONS = join(import.meta.dirname, "../../../../migrations");

function catalog(): DatabaseSync {
  const db = new DatabaseSync(":memory:");
  const files = readdirSync(MIGRATIONS).filter((name) => name.endsWith(".sql"));
  for (const name of files.toSorted()) db.exec(readFileSync(join(MIGRATIONS, name), "utf8"));
  return db;
}

test("a model's prices and aliases are sought by their names, and neither table is read whole", () => {
  const db = catalog();
  const conditions = conditionsOf(newId("tenant"), [{ provider: "openai", model: "gpt-4o" }]);
  for (const [table, condition] of [
    ["price_aliases", conditions.aliases],
    ["prices", conditions.prices],
  ] as const) {
    if (condition === undefined) throw new Error("no condition would be every row");
    const query = new SQLiteSyncDialect().sqlToQuery(condition);
    const values = query.params.map(String);
    const plan = db.prepare(`EXPLAIN QUERY PLAN SELECT * FROM ${table} WHERE ${query.sql}`).all(...values);
    const steps = plan.map((step) => String(step["detail"]));
    expect(steps[0]).toContain(`SEARCH ${table} USING INDEX ${table}_moment`);
    expect(steps.filter((step) => step.startsWith("SCAN price"))).toEqual([]);
  }
});

import { describe, expect, test } from "vitest";
import { checkMigration } from "./migration-rules.ts";

describe("checkMigration", () => {
  test("accepts an additive migration of strict tables", () => {
    expect(checkMigration("CREATE TABLE `a` (\n\t`id` text PRIMARY KEY\n) STRICT;\nALTER TABLE `a` ADD `b` text;")).toEqual([]);
  });

  test.each([
    ["DROP TABLE `a`;", "drops a table"],
    ["CREATE TABLE `__new_a` (\n`id` text\n) STRICT;", "rebuilds a table: only add tables, columns and indexes"],
    ["CREATE TABLE `a` (\n`id` text\n);", "table a is not STRICT"],
    ["ALTER TABLE `a` ADD `b` text REFERENCES c(id);", "has a foreign key: rows are erased by their tenant"],
  ])("refuses %j", (sql, why) => expect(checkMigration(sql)).toContain(why));
});

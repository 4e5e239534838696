/** `npm run migration -- NAME`: a migration from the catalog's schema, with strict tables, and checked. */
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkMigration } from "./migration-rules.ts";
import { readOptions, stopWith } from "./options.ts";
import { ROOT } from "./plane.ts";

const HELP = `
Writes the next migration of the catalog: what its schema has and the last migration has not.

  npm run migration -- NAME
`;

const { positionals } = readOptions(HELP, {});
const [name] = positionals;
if (name === undefined || !/^[a-z][a-z0-9_]*$/.test(name))
  stopWith("name the migration in lower case, with underscores: npm run migration -- add_budgets");

const folder = join(ROOT, "migrations");
const before = new Set(readdirSync(folder));
const drizzle = join(ROOT, "node_modules/drizzle-kit/bin.cjs");
const result = spawnSync(process.execPath, [drizzle, "generate", "--config", "migrations/drizzle.config.ts", "--name", name], {
  cwd: ROOT,
  encoding: "utf8",
});
process.stdout.write(result.stdout);
if (result.status !== 0) stopWith(result.stderr);

for (const file of readdirSync(folder).filter((one) => one.endsWith(".sql") && !before.has(one))) {
  const path = join(folder, file);
  // drizzle-kit can't write STRICT: a column would take any type.
  const sql = readFileSync(path, "utf8").replaceAll(/^\);$/gm, ") STRICT;");
  writeFileSync(path, sql);
  const problems = checkMigration(sql);
  if (problems.length > 0) stopWith(`${file} must not be applied:\n${problems.map((one) => `  ${one}\n`).join("")}`);
}

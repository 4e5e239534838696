/**
 * What a migration of the catalog may not do. D1 can't turn foreign keys off, so that a rebuilt table takes
 * its children's rows with it, and reports success. Pure.
 */
const FORBIDDEN: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/\bDROP\s+TABLE\b/i, "drops a table"],
  [/__new_/i, "rebuilds a table: only add tables, columns and indexes"],
  [/\bCASCADE\b/i, "cascades: rows would vanish without being asked for"],
  [/\bREFERENCES\b/i, "has a foreign key: rows are erased by their tenant"],
  [/\bTRIGGER\b/i, "has a trigger: wrangler splits their bodies wrongly"],
  [/\bDROP\s+COLUMN\b/i, "drops a column"],
  [/\bPRAGMA\b/i, "sets a pragma"],
  [/\r/, "has carriage returns"],
];

/** What is wrong with the migration's SQL; [] when nothing is. */
export function checkMigration(sql: string): string[] {
  const problems = FORBIDDEN.flatMap(([pattern, why]) => (pattern.test(sql) ? [why] : []));
  for (const table of sql.matchAll(/CREATE TABLE `?(\w+)`?[\s\S]*?^\)([^;]*);/gm)) {
    if (!/\bSTRICT\b/.test(table[2] ?? "")) problems.push(`table ${table[1]} is not STRICT`);
  }
  return problems;
}

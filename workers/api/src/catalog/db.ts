/** The catalog's connection: the only place that calls `drizzle()`. */
import type { SQL } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { SQLiteAsyncDialect } from "drizzle-orm/sqlite-core";

export const connect = (database: D1Database) => drizzle(database);
export type CatalogDb = ReturnType<typeof connect>;

const dialect = new SQLiteAsyncDialect();

/** Statements in raw SQL, in one transaction: drizzle's batch takes none that has parameters. */
export function batchOf<T>(db: CatalogDb, queries: readonly SQL[]): Promise<D1Result<T>[]> {
  const statements = queries.map((query) => {
    const { sql, params } = dialect.sqlToQuery(query);
    return db.$client.prepare(sql).bind(...params);
  });
  return db.$client.batch<T>(statements);
}

/** True when a write failed on a unique index. D1 tells so only in the message of a cause. */
export function isUniqueViolation(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.message.includes("UNIQUE constraint failed")) return true;
  }
  return false;
}

/** The catalog's connection: the only place that calls `drizzle()`. */
import { drizzle } from "drizzle-orm/d1";

export const connect = (database: D1Database) => drizzle(database);
export type CatalogDb = ReturnType<typeof connect>;

/** True when a write failed on a unique index. D1 tells so only in the message of a cause. */
export function isUniqueViolation(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.message.includes("UNIQUE constraint failed")) return true;
  }
  return false;
}

/**
 * Migrations of an object's own database: an append-only list, applied in order, each in a transaction.
 * An object of any earlier version opens. Called in the object's constructor and when it is first used.
 */
import type { Database, Sql } from "./database.ts";

export type Migration = { readonly id: string; readonly sql: string };

const hasTable = (sql: Sql, name: string): boolean =>
  sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name).toArray().length > 0;

/** True when the database was ever migrated. Writes nothing: looking at an unused object must not store. */
export const isMigrated = (storage: Database): boolean => hasTable(storage.sql, "_migrations");

/**
 * Applies what is missing. `upTo` stops after that migration (for tests of later ones).
 * Throws when the database has a migration that the list does not: it is of a newer version.
 */
export function migrate(storage: Database, migrations: readonly Migration[], upTo?: string): void {
  const { sql } = storage;
  sql.exec("CREATE TABLE IF NOT EXISTS [_migrations] (position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE) STRICT");
  const applied = sql.exec<{ id: string }>("SELECT id FROM [_migrations] ORDER BY position").toArray();
  applied.forEach(({ id }, position) => {
    if (migrations[position]?.id !== id)
      throw new Error(`the database has migration ${id} at position ${position}, which this version does not know`);
  });
  for (const [position, migration] of migrations.entries()) {
    if (position >= applied.length) {
      storage.transactionSync(() => {
        sql.exec(migration.sql);
        sql.exec("INSERT INTO [_migrations] (position, id) VALUES (?, ?)", position, migration.id);
      });
    }
    if (migration.id === upTo) return;
  }
}

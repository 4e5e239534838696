/**
 * The engine's tables under other names, so that one database holds several sessions: the bracketed names of a
 * statement get the session's number, `[messages]` becomes `[sp_7_messages]`. docs/adr/0008.
 */
import type { Database, Sql } from "../../storage/sqlite/database.ts";

const NAME = /\[(\w+)\]/g;

/** How every table of a session is called. Names without brackets are not the engine's, and stay. */
export const tableName = (number: number, name: string): string => `sp_${number}_${name}`;

export function numbered(database: Database, number: number): Database {
  const rewritten = new Map<string, string>();
  const sql: Sql = {
    exec: (query, ...bindings) => {
      let text = rewritten.get(query);
      if (text === undefined) {
        text = query.replaceAll(NAME, (_, name: string) => `[${tableName(number, name)}]`);
        rewritten.set(query, text);
      }
      return database.sql.exec(text, ...bindings);
    },
  };
  return { sql, transactionSync: (work) => database.transactionSync(work) };
}

/** The tables of a tenant's index. Append-only: an applied entry never changes. */
import type { Migration } from "@sessionplane/engine/storage/sqlite/migrate";

const TEXTS: Migration = {
  id: "001_texts",
  sql: `
    -- first_seq: no message before it is left. through_seq: the session's log is applied up to it, without a gap.
    CREATE TABLE sessions (
      number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, first_seq INTEGER NOT NULL, through_seq INTEGER NOT NULL) STRICT;
    -- Stretches of logs that came before the one that they follow on.
    CREATE TABLE early (
      session INTEGER NOT NULL, after_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL,
      PRIMARY KEY (session, after_seq, to_seq)) STRICT, WITHOUT ROWID;
    -- A message as of version, which is the seq of its last change that was applied. removed: it was deleted.
    CREATE TABLE texts (
      doc INTEGER PRIMARY KEY, session INTEGER NOT NULL, seq INTEGER NOT NULL, version INTEGER NOT NULL,
      role TEXT NOT NULL, created_at INTEGER NOT NULL, removed INTEGER NOT NULL) STRICT;
    CREATE UNIQUE INDEX texts_message ON texts (session, seq);
    -- One row.
    CREATE TABLE state (only INTEGER PRIMARY KEY CHECK (only = 1), applied_at INTEGER NOT NULL) STRICT;`,
};

export const MIGRATIONS: readonly Migration[] = [TEXTS];

/** The engine's tables: the tree of messages and its overlays. Append-only: an applied entry never changes. */
import type { Migration } from "./migrate.ts";

export const ENGINE_MIGRATIONS: readonly Migration[] = [
  {
    id: "001_tree",
    sql: `
      -- tokens and bytes of the message; path_… summed from the root; ordinal counts the session's messages.
      -- call_ids: tool calls that the message opens or answers, so that planning parses nothing.
      -- continuations: further rows that hold the rest of a message too large for one.
      CREATE TABLE messages (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, role TEXT NOT NULL, created_at INTEGER NOT NULL,
        tokens INTEGER NOT NULL, path_tokens INTEGER NOT NULL, bytes INTEGER NOT NULL, path_bytes INTEGER NOT NULL,
        ordinal INTEGER NOT NULL, call_ids TEXT, continuations INTEGER NOT NULL, json TEXT NOT NULL) STRICT;
      CREATE TABLE continuations (
        seq INTEGER NOT NULL, position INTEGER NOT NULL, json TEXT NOT NULL, PRIMARY KEY (seq, position)) STRICT, WITHOUT ROWID;
      -- A run begins at first_seq, below parent_seq (0: a root), and goes on to the next run.
      CREATE TABLE runs (first_seq INTEGER PRIMARY KEY, parent_seq INTEGER NOT NULL) STRICT;
      CREATE INDEX runs_parent ON runs (parent_seq);
      CREATE TABLE overlays (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL,
        from_id TEXT NOT NULL, to_id TEXT NOT NULL, summary TEXT NOT NULL, messages INTEGER NOT NULL,
        tokens_before INTEGER NOT NULL, tokens_after INTEGER NOT NULL, retention TEXT, model TEXT, job_id TEXT,
        created_at INTEGER NOT NULL) STRICT;`,
  },
];

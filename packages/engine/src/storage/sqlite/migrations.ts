/** The engine's tables: the tree of messages and its overlays. Append-only: an applied entry never changes. */
import type { Migration } from "./migrate.ts";

export const TREE: Migration = {
  id: "001_tree",
  sql: `
      -- tokens and bytes of the message; path_… summed from the root; ordinal counts the session's messages.
      -- call_ids: tool calls that the message opens or answers, so that planning parses nothing.
      -- continuations: further rows that hold the rest of a message too large for one.
      CREATE TABLE [messages] (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, role TEXT NOT NULL, created_at INTEGER NOT NULL,
        tokens INTEGER NOT NULL, path_tokens INTEGER NOT NULL, bytes INTEGER NOT NULL, path_bytes INTEGER NOT NULL,
        ordinal INTEGER NOT NULL, call_ids TEXT, continuations INTEGER NOT NULL, json TEXT NOT NULL) STRICT;
      CREATE TABLE [continuations] (
        seq INTEGER NOT NULL, position INTEGER NOT NULL, json TEXT NOT NULL, PRIMARY KEY (seq, position)) STRICT, WITHOUT ROWID;
      -- A run begins at first_seq, below parent_seq (0: a root), and goes on to the next run.
      CREATE TABLE [runs] (first_seq INTEGER PRIMARY KEY, parent_seq INTEGER NOT NULL) STRICT;
      CREATE INDEX [runs_parent] ON [runs] (parent_seq);
      CREATE TABLE [overlays] (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL,
        from_id TEXT NOT NULL, to_id TEXT NOT NULL, summary TEXT NOT NULL, messages INTEGER NOT NULL,
        tokens_before INTEGER NOT NULL, tokens_after INTEGER NOT NULL, retention TEXT, model TEXT, job_id TEXT,
        created_at INTEGER NOT NULL) STRICT;`,
};

export const EDITS: Migration = {
  id: "004_edits",
  sql: `
      -- One row. leaf_seq was chosen when the log stood at leaf_chosen_at; a message written later is the leaf.
      -- removed: messages that were deleted below the newest ordinal. changed_…: the last edit, deletion or choice.
      CREATE TABLE [tree] (
        only INTEGER PRIMARY KEY CHECK (only = 1), leaf_seq INTEGER NOT NULL, leaf_chosen_at INTEGER NOT NULL,
        removed INTEGER NOT NULL, changed_seq INTEGER NOT NULL, changed_at INTEGER NOT NULL) STRICT;
      INSERT INTO [tree] VALUES (1, 0, 0, 0, 0, 0);
      -- A message that was edited or deleted: when in the log, and by what every path through it differs from path_….
      CREATE TABLE [edits] (
        seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, tokens INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
      -- stale: a message that it stands for was edited since.
      ALTER TABLE [overlays] ADD COLUMN stale INTEGER NOT NULL DEFAULT 0;`,
};

export const MEDIA: Migration = {
  id: "006_media",
  sql: `
      -- Bytes that left their messages, once each: content here, or r2_key in R2. id: the first half of their SHA-256.
      CREATE TABLE [media] (
        id TEXT PRIMARY KEY, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, content BLOB, r2_key TEXT) STRICT, WITHOUT ROWID;
      -- Where in a message they belong (path: JSON), with the media type and what stood before the base64 there.
      CREATE TABLE [media_refs] (
        seq INTEGER NOT NULL, path TEXT NOT NULL, prefix TEXT NOT NULL, media_type TEXT NOT NULL, media_id TEXT NOT NULL,
        PRIMARY KEY (seq, path)) STRICT, WITHOUT ROWID;
      CREATE INDEX [media_refs_media] ON [media_refs] (media_id);
      -- Objects in R2 that no message refers to (an upload under way is one), and from when on they may go.
      CREATE TABLE [media_trash] (r2_key TEXT PRIMARY KEY, due_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,
};

export const SEARCH: Migration = {
  id: "010_search",
  sql: `
      -- No row: nobody has searched, and there is no index. Messages before next_seq are in it.
      -- words: the version of what a word is.
      CREATE TABLE [search_state] (
        only INTEGER PRIMARY KEY CHECK (only = 1), next_seq INTEGER NOT NULL, words INTEGER NOT NULL) STRICT;`,
};

export const CONTEXT: Migration = {
  id: "011_context",
  sql: `
      -- What context blocks keep by key; entry: the number of its words in entry_index, which the first one makes.
      CREATE TABLE [entries] (
        entry INTEGER PRIMARY KEY AUTOINCREMENT, label TEXT NOT NULL, key TEXT NOT NULL, content TEXT NOT NULL, description TEXT,
        tokens INTEGER NOT NULL, revision INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
        UNIQUE (label, key)) STRICT;
      -- loaded: 0 once it was unloaded. restored: known from messages alone, not from a call of the tool.
      CREATE TABLE [skills_loaded] (
        label TEXT NOT NULL, key TEXT NOT NULL, loaded INTEGER NOT NULL, restored INTEGER NOT NULL, version INTEGER, sha256 TEXT,
        tokens INTEGER NOT NULL, loaded_at INTEGER NOT NULL, PRIMARY KEY (label, key)) STRICT, WITHOUT ROWID;
      -- Outputs of load_context in messages. tokens, bytes: what hiding them takes out of a history.
      CREATE TABLE [skill_outputs] (
        seq INTEGER NOT NULL, call_id TEXT NOT NULL, label TEXT NOT NULL, key TEXT NOT NULL, hidden INTEGER NOT NULL,
        tokens INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (seq, call_id)) STRICT, WITHOUT ROWID;`,
};

/** Every table of a session's database: the engine's tree, and what the plane keeps beside it. Append-only. */
import type { Migration } from "@sessionplane/engine/storage/sqlite/migrate";
import { CONTEXT, EDITS, MEDIA, SEARCH, TREE } from "@sessionplane/engine/storage/sqlite/migrations";

const PLANE_TABLES: Migration = {
  id: "002_plane",
  sql: `
    -- One row. leaf_seq is the leaf that was chosen when the log stood at leaf_chosen_at; a later message wins.
    -- failures: compaction jobs that failed in a row.
    CREATE TABLE session (
      only INTEGER PRIMARY KEY CHECK (only = 1), tenant_id TEXT NOT NULL, session_id TEXT NOT NULL, settings TEXT NOT NULL,
      status TEXT NOT NULL, end_reason TEXT, revision INTEGER NOT NULL, seq INTEGER NOT NULL,
      leaf_seq INTEGER NOT NULL, leaf_chosen_at INTEGER NOT NULL, projected_seq INTEGER NOT NULL, failures INTEGER NOT NULL,
      created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT;
    -- total_…: of all events up to this one, so that the newest row holds the session's totals.
    CREATE TABLE usage_events (
      seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, fingerprint TEXT NOT NULL, job_id TEXT, event TEXT NOT NULL,
      total_events INTEGER NOT NULL, total_input INTEGER NOT NULL, total_output INTEGER NOT NULL, total_list INTEGER NOT NULL,
      total_billed INTEGER NOT NULL, total_unpriced INTEGER NOT NULL, recorded_at INTEGER NOT NULL) STRICT;
    CREATE TABLE jobs (
      id TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE, state TEXT NOT NULL, trigger TEXT NOT NULL,
      leaf_seq INTEGER NOT NULL, leaf_id TEXT NOT NULL, from_seq INTEGER NOT NULL, to_seq INTEGER NOT NULL,
      from_id TEXT NOT NULL, to_id TEXT NOT NULL, planned_at INTEGER NOT NULL, messages INTEGER NOT NULL, tokens_before INTEGER NOT NULL,
      feeds TEXT NOT NULL, policy TEXT NOT NULL, fence INTEGER NOT NULL, lease_until INTEGER, woken_at INTEGER,
      attempts INTEGER NOT NULL, rejections INTEGER NOT NULL, rejected_because TEXT, overlay_id TEXT, tokens_after INTEGER,
      model TEXT, retention TEXT, error TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE INDEX jobs_state ON jobs (state);
    CREATE TABLE idempotency (key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, receipt TEXT NOT NULL, created_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,
};

/** A job's cost is asked for with every look at it. Only compaction's own events pay for the index. */
const USAGE_BY_JOB: Migration = {
  id: "003_usage_by_job",
  sql: "CREATE INDEX usage_events_job ON usage_events (job_id) WHERE job_id IS NOT NULL;",
};

/** The tree keeps its own leaf now. No session had chosen one: there was no way to. */
const LEAF_IN_TREE: Migration = {
  id: "005_leaf_in_tree",
  sql: "ALTER TABLE session DROP COLUMN leaf_seq; ALTER TABLE session DROP COLUMN leaf_chosen_at;",
};

/** Real tokens to an estimated one, by the last call that was reported since the last compaction. */
const CALIBRATION: Migration = {
  id: "007_calibration",
  sql: "ALTER TABLE session ADD COLUMN calibration REAL NOT NULL DEFAULT 1;",
};

/** Lines of a session that is being made of them, until all are there. Emptied when it is made. */
const IMPORT: Migration = {
  id: "008_import",
  sql: `
    CREATE TABLE import_messages (
      id TEXT PRIMARY KEY, line INTEGER NOT NULL, position INTEGER NOT NULL, parent_id TEXT, created_at INTEGER,
      left_out TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE INDEX import_messages_position ON import_messages (position, id);
    CREATE INDEX import_messages_parent ON import_messages (parent_id, position);
    CREATE TABLE import_pieces (id TEXT NOT NULL, piece INTEGER NOT NULL, json TEXT NOT NULL, PRIMARY KEY (id, piece)) STRICT, WITHOUT ROWID;
    CREATE TABLE import_overlays (id TEXT PRIMARY KEY, line INTEGER NOT NULL, position INTEGER NOT NULL, overlay TEXT NOT NULL) STRICT, WITHOUT ROWID;`,
};

/** What leaves no other record: edits, deletions, choices of a leaf, states of jobs, summaries, imports. */
const EVENTS: Migration = {
  id: "009_events",
  sql: "CREATE TABLE events (seq INTEGER PRIMARY KEY, type TEXT NOT NULL, data TEXT NOT NULL) STRICT;",
};

/** Context blocks as they are defined over HTTP, and the system prompt as models were given it. */
const BLOCKS: Migration = {
  id: "012_blocks",
  sql: `
    -- content: of blocks that have a text. settings: JSON. The tables of entries and of loaded skills are the engine's.
    CREATE TABLE blocks (
      label TEXT PRIMARY KEY, position INTEGER NOT NULL, kind TEXT NOT NULL, description TEXT, content TEXT NOT NULL,
      tokens INTEGER NOT NULL, max_tokens INTEGER, settings TEXT NOT NULL, revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    -- expired: to be rendered anew when it is asked for next.
    CREATE TABLE prompt (
      only INTEGER PRIMARY KEY CHECK (only = 1), prompt TEXT NOT NULL, tokens INTEGER NOT NULL, frozen_at INTEGER NOT NULL,
      expired INTEGER NOT NULL) STRICT;`,
};

/** Jobs that write a summary again: which one, and what it should pay attention to. */
const RENEWALS: Migration = {
  id: "013_renewals",
  sql: "ALTER TABLE jobs ADD COLUMN renews TEXT; ALTER TABLE jobs ADD COLUMN instructions TEXT;",
};

/** Corrections of usage events: rows of their own, found by what they correct. */
const ADJUSTMENTS: Migration = {
  id: "014_adjustments",
  sql: `
    ALTER TABLE usage_events ADD COLUMN adjusts TEXT;
    CREATE INDEX usage_events_adjusts ON usage_events (adjusts) WHERE adjusts IS NOT NULL;`,
};

/** Jobs that gave way to another. */
const REPLACED_JOBS: Migration = { id: "015_replaced_jobs", sql: "ALTER TABLE jobs ADD COLUMN replaced_by TEXT;" };

/** The receipt of an erasure. `removed`: JSON. */
const ERASURE: Migration = {
  id: "016_erasure",
  sql: `CREATE TABLE erasure (
    only INTEGER PRIMARY KEY CHECK (only = 1), id TEXT NOT NULL, removed TEXT NOT NULL, erased_at INTEGER NOT NULL,
    completed_at INTEGER) STRICT;`,
};

/** 1: the key of a write to the ledger, which an erasure leaves with what it wrote. */
const LEDGER_KEYS: Migration = {
  id: "017_ledger_keys",
  sql: "ALTER TABLE idempotency ADD COLUMN outlives INTEGER NOT NULL DEFAULT 0;",
};

export const MIGRATIONS: readonly Migration[] = [
  TREE,
  PLANE_TABLES,
  USAGE_BY_JOB,
  EDITS,
  LEAF_IN_TREE,
  MEDIA,
  CALIBRATION,
  IMPORT,
  EVENTS,
  SEARCH,
  CONTEXT,
  BLOCKS,
  RENEWALS,
  ADJUSTMENTS,
  REPLACED_JOBS,
  ERASURE,
  LEDGER_KEYS,
];

/**
 * One session's part of the database, as its stores and what several of them say together. One per session
 * and isolate: what is in memory is a copy of rows that nobody else writes. Every call is synchronous.
 */
import { historyTokens, overlaysOver } from "../../history/history-totals.ts";
import type { Database } from "../../storage/sqlite/database.ts";
import { MediaStore } from "../../storage/sqlite/media-store.ts";
import { MessageTree } from "../../storage/sqlite/message-tree.ts";
import { type Migration, migrate } from "../../storage/sqlite/migrate.ts";
import { CONTEXT, EDITS, MEDIA, SEARCH, TREE } from "../../storage/sqlite/migrations.ts";
import { OverlayStore, type StoredOverlay } from "../../storage/sqlite/overlays.ts";
import { SearchIndex } from "../../storage/sqlite/search-index.ts";
import { SkillState } from "../../storage/sqlite/skill-state.ts";
import { Sequence } from "../../storage/sqlite/sequence.ts";
import { type Range, contains } from "../../tree/runs.ts";
import { TEXTS, TextStore } from "./text-store.ts";

/** Append-only. */
const MIGRATIONS: readonly Migration[] = [TREE, EDITS, MEDIA, SEARCH, CONTEXT, TEXTS];

/** Every table that they make, and the one that the first search does, for when a session goes. */
const TABLES = [
  ...["messages", "continuations", "runs", "overlays", "tree", "edits"],
  ...["media", "media_refs", "media_trash", "search_state", "search_index", "_migrations"],
  ...["entries", "entry_index", "skills_loaded", "skill_outputs", "texts"],
] as const;

const HEAD = `SELECT max(coalesce((SELECT max(seq) FROM [messages]), 0), coalesce((SELECT max(seq) FROM [overlays]), 0),
  (SELECT changed_seq FROM [tree])) AS head`;

export class SessionTables {
  readonly database: Database;
  readonly sequence: Sequence;
  readonly messages: MessageTree;
  readonly overlays: OverlayStore;
  readonly media: MediaStore;
  readonly search: SearchIndex;
  readonly skills: SkillState;
  readonly texts: TextStore;

  /** Makes the tables, or brings them to the present version. `database`: with the session's names. */
  constructor(database: Database) {
    migrate(database, MIGRATIONS);
    const { sql } = database;
    this.database = database;
    this.sequence = new Sequence(sql.exec<{ head: number }>(HEAD).one().head);
    this.messages = new MessageTree(sql, this.sequence);
    this.overlays = new OverlayStore(sql);
    this.media = new MediaStore(sql);
    this.search = new SearchIndex(sql);
    this.skills = new SkillState(sql);
    this.texts = new TextStore(sql);
  }

  /** All of it or nothing. `work` is synchronous. */
  atomically<T>(work: () => T): T {
    const { head } = this.sequence;
    try {
      return this.database.transactionSync(work);
    } catch (error) {
      this.sequence.rollBackTo(head);
      for (const store of [this.messages, this.overlays, this.media, this.search, this.skills]) store.forget();
      throw error;
    }
  }

  drop(): void {
    for (const table of TABLES) this.database.sql.exec(`DROP TABLE IF EXISTS [${table}]`);
  }

  historyTokens(leafSeq: number): number {
    return historyTokens(this, leafSeq);
  }

  overlaysOver(seqs: readonly number[]): StoredOverlay[] {
    return overlaysOver(this.messages, this.overlays, seqs);
  }

  /** Bytes of media on a path, as they are kept, each as often as a message refers to it, by the message. */
  mediaOn(path: readonly Range[]): Map<number, number> {
    const found = new Map<number, number>();
    if (this.media.isEmpty()) return found;
    const sql = "SELECT seq, bytes FROM [media_refs] JOIN [media] ON id = media_id";
    for (const { seq, bytes } of this.database.sql.exec<{ seq: number; bytes: number }>(sql)) {
      if (contains(path, seq)) found.set(seq, (found.get(seq) ?? 0) + bytes);
    }
    return found;
  }
}

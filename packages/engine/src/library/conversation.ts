/**
 * What a session asks of whatever stores it, and the shapes that it shares with its callers. Types alone: our
 * tables implement it (`sqlite-conversation.ts`), and so does a caller's own storage (`provided-conversation.ts`).
 */
import type { Outcome, Recall } from "../context/run-tool.ts";
import type { ClientRules } from "../messages/client-source.ts";
import type { LoadedSkills } from "./context/loaded-skills.ts";
import type { StoredText } from "./context/stored-text.ts";
import type { EventBus, StoredCompaction } from "./session-events.ts";
import type { SessionMessage, SessionMessageInput } from "./session-message.ts";
import type { TextKind } from "./storage/text-store.ts";

export type HistoryOptions = {
  /** The message that the path ends with; the active leaf when it is left out. */
  readonly leafId?: string | undefined;
  readonly newestFirst?: boolean | undefined;
  /** Asked between messages: the read ends with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
};

export type HistoryBatchOptions = HistoryOptions & {
  /** Messages, at least 1; 50 when it is left out. */
  readonly batchSize?: number | undefined;
  /** UTF-8 bytes of the messages' JSON, 4 MiB when it is left out. A larger message comes alone. */
  readonly maxBatchBytes?: number | undefined;
};

export type RecentHistoryOptions = {
  readonly leafId?: string | undefined;
  /** So many come whatever they weigh, at least 1. */
  readonly minRecentMessages?: number | undefined;
};

export type RecentHistory = {
  /** Oldest first. */
  messages: SessionMessage[];
  /** Whether the path has more. */
  truncated: boolean;
  /** UTF-8 bytes of all messages on the path as they are stored, their media as base64. */
  totalContentBytes: number;
};

/** A message without its content. `bytes` as in `RecentHistory`; the estimate is the one that compaction counts with. */
export type HistoryRowStats = { id: string; role: string; bytes: number; tokenEstimate: number };

/** Who wrote it: `client` is not trusted. */
export type MessageSource = "server" | "client";

export type AppendOptions = {
  /** Left out: below the active leaf. Null: a new root. */
  readonly parentId?: string | null | undefined;
  /** `server` when it is left out. */
  readonly source?: MessageSource | undefined;
};
export type UpdateOptions = { readonly source?: MessageSource | undefined };

export type ImportOptions = {
  /** Null: a root. */
  readonly parentId: string | null;
  /** Epoch milliseconds, or a `Date`. */
  readonly createdAt: number | Date;
};

/** `inserted` is false when the id was there already: then `message` is what is stored. */
export type AppendResult = { inserted: boolean; message: SessionMessage };

/** What a compaction function found: the text that stands for a range, and the ids of its ends. */
export type CompactResult = { fromMessageId: string; toMessageId: string; summary: string };

/** `score`: BM25, higher is better; comparable within one search. */
export type SearchResult = { id: string; role: string; content: string; createdAt?: string; score?: number };

/** A message of a history and what it weighs in UTF-8 bytes. */
export type Weighed = { readonly message: SessionMessage; readonly bytes: number };

/** A compaction that has begun. */
export type OpenCompaction = {
  /** The whole path, earlier compactions applied. */
  readonly history: SessionMessage[];
  /** Stores the summary. Throws `invalid_range`, `invalid_summary`, or `range_changed` when it stands for something else by now. */
  commit(result: CompactResult): Promise<StoredCompaction>;
};

/** What was written: `parentId` for those who are told. */
export type Appended = AppendResult & { readonly parentId: string | null };

/** Whom a write comes from, and what clients may write. */
export type Writer = { readonly source: MessageSource; readonly rules: ClientRules };

export interface Conversation {
  readonly sessionId: string;
  readonly events: EventBus;

  getMessage(id: string): Promise<SessionMessage | null>;
  getLatestLeaf(): Promise<SessionMessage | null>;
  getBranches(id: string): Promise<SessionMessage[]>;
  getPathLength(leafId: string | undefined): Promise<number>;
  /** The path in windows that fit memory. */
  windows(options: HistoryOptions): AsyncGenerator<readonly Weighed[], void, undefined>;
  getRecentHistory(maxBytes: number, options: RecentHistoryOptions): Promise<RecentHistory>;
  getHistoryRowStats(leafId: string | undefined): Promise<HistoryRowStats[]>;
  /** Tokens of the history to the active leaf, compactions applied. */
  estimateTokens(): Promise<number>;

  append(message: SessionMessageInput, parentId: string | null | undefined, writer: Writer): Promise<Appended>;
  /** Null: no such message. */
  update(message: SessionMessageInput, writer: Writer): Promise<{ message: SessionMessage; changed: boolean } | null>;
  import(message: SessionMessageInput, options: ImportOptions): Promise<AppendResult>;
  /** Those that were there. */
  delete(ids: readonly string[]): Promise<string[]>;
  clear(): Promise<void>;

  addCompaction(summary: string, fromId: string, toId: string): Promise<StoredCompaction>;
  /** Oldest first. */
  getCompactions(): Promise<StoredCompaction[]>;
  openCompaction(leafId: string | undefined): Promise<OpenCompaction>;

  search?(query: string, limit: number): Promise<SearchResult[]>;

  readonly skills: LoadedSkills;
  /** Where the session keeps a text of its own. Missing: its storage keeps messages alone. */
  text?(kind: TextKind, name: string): StoredText;
  /** The originals behind compactions, as text for a model; a value of null: none. Missing: they can't be had. */
  recall?(what: Recall): Promise<Outcome<string | null>>;
}

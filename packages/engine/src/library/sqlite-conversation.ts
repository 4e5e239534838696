/**
 * A session in the tables of a Durable Object. Looks its tables up at each call: another handle may have made
 * or dropped them. No call awaits anything between its reads and its writes.
 */
import type {
  Appended,
  AppendResult,
  Conversation,
  HistoryOptions,
  HistoryRowStats,
  ImportOptions,
  OpenCompaction,
  RecentHistory,
  RecentHistoryOptions,
  SearchResult,
  Weighed,
  Writer,
} from "./conversation.ts";
import { readOriginals } from "../context/read-originals.ts";
import type { Outcome, Recall } from "../context/run-tool.ts";
import { StoredSkills } from "./context/loaded-skills.ts";
import { StoredText } from "./context/stored-text.ts";
import { unknownMessage } from "./session-error.ts";
import type { EventBus, StoredCompaction } from "./session-events.ts";
import { type SessionMessage, type SessionMessageInput, toMessage } from "./session-message.ts";
import { addCompaction, commitCompaction, toCompaction } from "./storage/compactions.ts";
import type { ObjectSessions } from "./storage/object-sessions.ts";
import {
  leafOf,
  pathLength,
  readBranches,
  readOne,
  readRecent,
  readStats,
  readWindows,
  unknownLeaf,
} from "./storage/read-messages.ts";
import { completeIndex, searchMessages } from "./storage/search-messages.ts";
import type { SessionTables } from "./storage/session-tables.ts";
import type { TextKind } from "./storage/text-store.ts";
import { appendMessage, clearMessages, deleteMessages, importMessage, updateMessage } from "./storage/write-messages.ts";

export class SqliteConversation implements Conversation {
  readonly sessionId: string;
  readonly events: EventBus;
  readonly skills: StoredSkills;
  readonly #sessions: ObjectSessions;

  constructor(sessions: ObjectSessions, sessionId: string) {
    this.sessionId = sessionId;
    this.events = sessions.events;
    this.skills = new StoredSkills(sessions, sessionId);
    this.#sessions = sessions;
  }

  /** Null when the session was never written to. */
  get #tables(): SessionTables | null {
    return this.#sessions.find(this.sessionId);
  }

  /** The same for a read to a leaf, which must be there when it is named. */
  #tablesWith(leafId: string | undefined): SessionTables | null {
    const tables = this.#tables;
    if (tables === null && leafId !== undefined) throw unknownLeaf(leafId);
    return tables;
  }

  async getMessage(id: string): Promise<SessionMessage | null> {
    const tables = this.#tables;
    return tables === null ? null : readOne(tables, tables.messages.seqOf(id));
  }

  async getLatestLeaf(): Promise<SessionMessage | null> {
    const tables = this.#tables;
    return tables === null ? null : readOne(tables, tables.messages.activeLeaf());
  }

  async getBranches(id: string): Promise<SessionMessage[]> {
    const tables = this.#tables;
    if (tables === null) throw unknownMessage(id);
    return readBranches(tables, id);
  }

  async getPathLength(leafId: string | undefined): Promise<number> {
    const tables = this.#tablesWith(leafId);
    return tables === null ? 0 : pathLength(tables, leafId);
  }

  async *windows(options: HistoryOptions): AsyncGenerator<readonly Weighed[], void, undefined> {
    const tables = this.#tablesWith(options.leafId);
    if (tables !== null) yield* readWindows(tables, options);
  }

  async getRecentHistory(maxBytes: number, options: RecentHistoryOptions): Promise<RecentHistory> {
    const tables = this.#tablesWith(options.leafId);
    return tables === null ? { messages: [], truncated: false, totalContentBytes: 0 } : readRecent(tables, maxBytes, options);
  }

  async getHistoryRowStats(leafId: string | undefined): Promise<HistoryRowStats[]> {
    const tables = this.#tablesWith(leafId);
    return tables === null ? [] : readStats(tables, leafId);
  }

  async estimateTokens(): Promise<number> {
    const tables = this.#tables;
    return tables === null ? 0 : tables.historyTokens(tables.messages.activeLeaf());
  }

  async search(query: string, limit: number): Promise<SearchResult[]> {
    const tables = this.#tables;
    return tables === null ? [] : searchMessages(tables, query, limit);
  }

  async append(message: SessionMessageInput, parentId: string | null | undefined, writer: Writer): Promise<Appended> {
    return appendMessage(this.#sessions, this.sessionId, message, parentId, writer);
  }

  async update(message: SessionMessageInput, writer: Writer): Promise<{ message: SessionMessage; changed: boolean } | null> {
    const tables = this.#tables;
    if (tables !== null) return updateMessage(tables, message, writer);
    toMessage(message);
    return null;
  }

  async import(message: SessionMessageInput, options: ImportOptions): Promise<AppendResult> {
    const { inserted, message: stored } = importMessage(this.#sessions, this.sessionId, message, options);
    return { inserted, message: stored };
  }

  async delete(ids: readonly string[]): Promise<string[]> {
    const tables = this.#tables;
    return tables === null ? [] : deleteMessages(tables, ids);
  }

  async clear(): Promise<void> {
    const tables = this.#tables;
    if (tables !== null) clearMessages(tables);
  }

  async addCompaction(summary: string, fromId: string, toId: string): Promise<StoredCompaction> {
    const tables = this.#tables;
    if (tables === null) throw unknownMessage(fromId);
    return addCompaction(tables, summary, fromId, toId);
  }

  async getCompactions(): Promise<StoredCompaction[]> {
    return this.#tables?.overlays.all().map(toCompaction) ?? [];
  }

  async openCompaction(leafId: string | undefined): Promise<OpenCompaction> {
    const tables = this.#tablesWith(leafId);
    if (tables === null)
      return { history: [], commit: async ({ fromMessageId }) => Promise.reject(unknownMessage(fromMessageId)) };
    const leaf = leafOf(tables, leafId);
    const since = tables.sequence.head;
    const history = [...readWindows(tables, { leafId })].flat().map(({ message }) => message);
    const commit: OpenCompaction["commit"] = async (result) => {
      // The session may have been deleted while its summary was written.
      const present = this.#tables;
      if (present === null) throw unknownMessage(result.fromMessageId);
      return commitCompaction(present, leaf, since, result);
    };
    return { history, commit };
  }

  text(kind: TextKind, name: string): StoredText {
    return new StoredText(
      () => this.#tables?.texts.read(kind, name) ?? null,
      (content) => this.#sessions.create(this.sessionId).texts.write(kind, name, content),
    );
  }

  async recall(what: Recall): Promise<Outcome<string | null>> {
    const tables = this.#tables;
    if (tables === null) return { ok: true, value: null };
    if (what.query !== undefined) completeIndex(tables);
    return readOriginals(tables, what);
  }
}

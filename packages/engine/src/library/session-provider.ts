/** A caller's own storage for a session, and ours in the same shape. Source of the methods: Cloudflare's Session API. */
import type { SearchResult } from "./conversation.ts";
import { type SessionHost, databaseOf } from "./host.ts";
import type { StoredCompaction } from "./session-events.ts";
import type { SessionMessage } from "./session-message.ts";
import { SqliteConversation } from "./sqlite-conversation.ts";
import { ObjectSessions } from "./storage/object-sessions.ts";

type Awaitable<T> = T | Promise<T>;

/**
 * All that a session needs of a storage. Unknown ids need not be refused here: the session asks first. A path's
 * compactions are applied by `getHistory`, each as a message with the id `compaction_<id>`.
 */
export interface SessionProvider {
  /** Null: none with this id. */
  getMessage(id: string): Awaitable<SessionMessage | null>;
  /** From the root to the leaf; without one to the newest. */
  getHistory(leafId?: string | null): Awaitable<SessionMessage[]>;
  getLatestLeaf(): Awaitable<SessionMessage | null>;
  getBranches(messageId: string): Awaitable<SessionMessage[]>;
  /** Messages on the path, those that a compaction stands for among them. */
  getPathLength(leafId?: string | null): Awaitable<number>;
  /** Parent left out: below the newest. Null: a root. */
  appendMessage(message: SessionMessage, parentId?: string | null): Awaitable<unknown>;
  updateMessage(message: SessionMessage): Awaitable<unknown>;
  deleteMessages(messageIds: string[]): Awaitable<unknown>;
  clearMessages(): Awaitable<unknown>;
  addCompaction(summary: string, fromMessageId: string, toMessageId: string): Awaitable<StoredCompaction>;
  getCompactions(): Awaitable<StoredCompaction[]>;
  /** May be missing: then `search()` of the session is refused. */
  searchMessages?(query: string, limit?: number): Awaitable<SearchResult[]>;
}

/** All but the search: an object that has some of these names is none. */
const METHODS = [
  ...["getMessage", "getHistory", "getLatestLeaf", "getBranches", "getPathLength", "appendMessage", "updateMessage"],
  ...["deleteMessages", "clearMessages", "addCompaction", "getCompactions"],
];

export const isProvider = (value: object): value is SessionProvider =>
  METHODS.every((name) => typeof Reflect.get(value, name) === "function");

const SERVER = { source: "server", rules: { client_roles: [], reserved_metadata_keys: [] } } as const;

/** Our tables as a provider: `new Session(new AgentSessionProvider(this))` is `Session.create(this)`. */
export class AgentSessionProvider implements SessionProvider {
  readonly sessionId: string;
  readonly #sessions: ObjectSessions;

  /** `sessionId`: the empty one is the default session. */
  constructor(host: SessionHost, sessionId = "") {
    this.sessionId = sessionId;
    this.#sessions = ObjectSessions.of(databaseOf(host));
  }

  /** This session, or another of the same database. */
  conversationOf(sessionId: string): SqliteConversation {
    return new SqliteConversation(this.#sessions, sessionId);
  }

  get #conversation(): SqliteConversation {
    return this.conversationOf(this.sessionId);
  }

  getMessage(id: string): Promise<SessionMessage | null> {
    return this.#conversation.getMessage(id);
  }

  async getHistory(leafId?: string | null): Promise<SessionMessage[]> {
    return (await this.#conversation.openCompaction(leafId ?? undefined)).history;
  }

  getLatestLeaf(): Promise<SessionMessage | null> {
    return this.#conversation.getLatestLeaf();
  }

  getBranches(messageId: string): Promise<SessionMessage[]> {
    return this.#conversation.getBranches(messageId);
  }

  getPathLength(leafId?: string | null): Promise<number> {
    return this.#conversation.getPathLength(leafId ?? undefined);
  }

  async appendMessage(message: SessionMessage, parentId?: string | null): Promise<void> {
    await this.#conversation.append(message, parentId, SERVER);
  }

  async updateMessage(message: SessionMessage): Promise<void> {
    await this.#conversation.update(message, SERVER);
  }

  async deleteMessages(messageIds: string[]): Promise<void> {
    await this.#conversation.delete(messageIds);
  }

  clearMessages(): Promise<void> {
    return this.#conversation.clear();
  }

  addCompaction(summary: string, fromMessageId: string, toMessageId: string): Promise<StoredCompaction> {
    return this.#conversation.addCompaction(summary, fromMessageId, toMessageId);
  }

  getCompactions(): Promise<StoredCompaction[]> {
    return this.#conversation.getCompactions();
  }
}

/**
 * Named sessions of one Durable Object: a registry of them, and the methods of a session by its id. Source of the
 * methods: the `SessionManager` of Cloudflare's Session API; what it got wrong is an error here, with a code.
 */
import type { ContextBlock } from "../../context/context-block.ts";
import type { WritableContextProvider } from "../../context/providers.ts";
import type { CompactAfterOptions, CompactFunction, CompactionErrorHandler } from "../compaction/compactor.ts";
import type { ContextOptions } from "../context/context-blocks.ts";
import type { SessionTools } from "../context/session-tools.ts";
import type { AppendResult, SearchResult } from "../conversation.ts";
import { type SessionHost, databaseOf } from "../host.ts";
import { Session } from "../session.ts";
import { SessionError, unknownMessage } from "../session-error.ts";
import type { StoredCompaction } from "../session-events.ts";
import type { SessionMessage, SessionMessageInput } from "../session-message.ts";
import { AgentSessionProvider } from "../session-provider.ts";
import { ObjectSessions } from "../storage/object-sessions.ts";
import { copyPath } from "./copy-path.ts";
import { type Histories, historyProvider, historyTools } from "./searchable-history.ts";
import { type CreateOptions, type SessionInfo, SessionRegistry } from "./session-registry.ts";

export class SessionManager {
  readonly #host: SessionHost;
  readonly #sessions: ObjectSessions;
  readonly #registry: SessionRegistry;
  readonly #handles = new Map<string, Session>();
  readonly #settings: ((session: Session) => void)[] = [];

  constructor(host: SessionHost) {
    this.#host = host;
    this.#sessions = ObjectSessions.of(databaseOf(host));
    this.#registry = new SessionRegistry(this.#sessions.database);
  }

  static create(host: SessionHost): SessionManager {
    return new SessionManager(host);
  }

  // The builder: what holds for every session, those that were handed out already among them

  #set(setting: (session: Session) => void): this {
    this.#settings.push(setting);
    for (const session of this.#handles.values()) setting(session);
    return this;
  }

  /** Without a provider each session has a text of its own; a provider is one for all of them. */
  withContext(label: string, options: ContextOptions = {}): this {
    return this.#set((session) => session.withContext(label, options));
  }

  /** Without a provider each session keeps its own; a provider would hold one prompt for all of them. */
  withCachedPrompt(provider?: WritableContextProvider): this {
    return this.#set((session) => session.withCachedPrompt(provider));
  }

  /** A block in which the model searches the conversations of every session that the manager lists. */
  withSearchableHistory(label: string): this {
    const description = "Earlier conversations";
    return this.withContext(label, { description, provider: historyProvider(this.#histories) });
  }

  onCompaction(compact: CompactFunction): this {
    return this.#set((session) => session.onCompaction(compact));
  }

  compactAfter(tokenThreshold: number, options: CompactAfterOptions = {}): this {
    return this.#set((session) => session.compactAfter(tokenThreshold, options));
  }

  onCompactionError(handler: CompactionErrorHandler): this {
    return this.#set((session) => session.onCompactionError(handler));
  }

  // Sessions

  async create(name: string, options: CreateOptions = {}): Promise<SessionInfo> {
    return this.#registry.insert(crypto.randomUUID(), name, options);
  }

  /** Null: there is none with this id. */
  async get(sessionId: string): Promise<SessionInfo | null> {
    return this.#registry.find(sessionId);
  }

  /** The last one that was written to first. */
  async list(): Promise<SessionInfo[]> {
    return this.#registry.list();
  }

  /** Rejects with `unknown_session`. */
  async rename(sessionId: string, name: string): Promise<void> {
    this.#registry.rename(sessionId, name);
  }

  /** The session and all that belongs to it. One that is not there is gone already. */
  async delete(sessionId: string): Promise<void> {
    this.#sessions.database.transactionSync(() => {
      this.#sessions.drop(sessionId);
      this.#registry.delete(sessionId);
    });
    this.#handles.delete(sessionId);
  }

  /** One handle an id. It need not have been created: then the manager does not list it. */
  getSession(sessionId: string): Session {
    const known = this.#handles.get(sessionId);
    if (known !== undefined) return known;
    const session = new Session(new AgentSessionProvider(this.#host, sessionId));
    for (const setting of this.#settings) setting(session);
    this.#handles.set(sessionId, session);
    return session;
  }

  /** A write of a session, which sets the time at which it was last changed. */
  async #write<T>(sessionId: string, write: (session: Session) => Promise<T>): Promise<T> {
    const result = await write(this.getSession(sessionId));
    this.#registry.touch(sessionId);
    return result;
  }

  /** In every session that the manager lists; the best first. Any text is a query. */
  async search(
    query: string,
    { limit = 20 }: { readonly limit?: number } = {},
  ): Promise<(SearchResult & { sessionId: string })[]> {
    const hits: (SearchResult & { sessionId: string })[] = [];
    for (const { id } of this.#registry.list()) {
      for (const hit of await this.getSession(id).search(query, { limit })) hits.push({ ...hit, sessionId: id });
    }
    return hits.toSorted((a, b) => (b.score ?? 0) - (a.score ?? 0)).slice(0, limit);
  }

  get #histories(): Histories {
    return { count: () => this.#registry.list().length, search: (query, limit) => this.search(query, { limit }) };
  }

  /** `session_search`, which searches as `search` does. */
  async tools(): Promise<SessionTools> {
    return historyTools(this.#histories);
  }

  // Messages

  append(sessionId: string, message: SessionMessageInput, parentId?: string | null): Promise<AppendResult> {
    return this.#write(sessionId, (session) => session.appendMessage(message, parentId));
  }

  upsert(sessionId: string, message: SessionMessageInput, parentId?: string | null): Promise<AppendResult> {
    return this.#write(sessionId, (session) => session.upsertMessage(message, { parentId }));
  }

  /** Each below the one before it, the first below `parentId`: left out, the active leaf. */
  appendAll(sessionId: string, messages: readonly SessionMessageInput[], parentId?: string | null): Promise<AppendResult[]> {
    return this.#write(sessionId, async (session) => {
      const results: AppendResult[] = [];
      let below = parentId;
      for (const message of messages) {
        results.push(await session.appendMessage(message, below));
        below = message.id;
      }
      return results;
    });
  }

  async getHistory(sessionId: string, leafId?: string | null): Promise<SessionMessage[]> {
    return this.getSession(sessionId).getHistory(leafId);
  }

  /** Messages on the path to the active leaf, those that a compaction stands for among them. */
  async getMessageCount(sessionId: string): Promise<number> {
    return this.getSession(sessionId).getPathLength();
  }

  clearMessages(sessionId: string): Promise<void> {
    return this.#write(sessionId, (session) => session.clearMessages());
  }

  deleteMessages(sessionId: string, messageIds: readonly string[]): Promise<void> {
    return this.#write(sessionId, (session) => session.deleteMessages(messageIds));
  }

  async getBranches(sessionId: string, messageId: string): Promise<SessionMessage[]> {
    return this.getSession(sessionId).getBranches(messageId);
  }

  // Context

  async getContextBlock(sessionId: string, label: string): Promise<ContextBlock | null> {
    return this.getSession(sessionId).getContextBlock(label);
  }

  async getContextBlocks(sessionId: string): Promise<ContextBlock[]> {
    return this.getSession(sessionId).getContextBlocks();
  }

  replaceContextBlock(sessionId: string, label: string, content: string): Promise<ContextBlock> {
    return this.#write(sessionId, (session) => session.replaceContextBlock(label, content));
  }

  appendContextBlock(sessionId: string, label: string, content: string): Promise<ContextBlock> {
    return this.#write(sessionId, (session) => session.appendContextBlock(label, content));
  }

  // Going on elsewhere

  /**
   * A new session with the path up to a message: the originals under new ids, and the compactions that fit into it.
   * Usage is not copied. Rejects with `unknown_session` and `unknown_message`.
   */
  async fork(sessionId: string, atMessageId: string, name: string): Promise<SessionInfo> {
    const { id: parentSessionId } = this.#registry.must(sessionId);
    const from = this.#sessions.find(sessionId);
    const leaf = from?.messages.seqOf(atMessageId) ?? null;
    if (from === null || leaf === null) throw unknownMessage(atMessageId);
    const id = crypto.randomUUID();
    try {
      copyPath(from, this.#sessions.create(id), leaf);
      return this.#registry.insert(id, name, { parentSessionId });
    } catch (error) {
      this.#sessions.drop(id);
      throw error;
    }
  }

  /**
   * Ends a session with the reason `compaction`, and begins one with its model and source whose first message is
   * the summary. Rejects with `unknown_session` and `invalid_summary`.
   */
  async compactAndSplit(sessionId: string, summary: string, name?: string): Promise<SessionInfo> {
    const ended = this.#registry.must(sessionId);
    if (summary.trim() === "") throw new SessionError("invalid_summary", "the summary is empty");
    const info = this.#registry.insert(crypto.randomUUID(), name ?? ended.name, {
      parentSessionId: sessionId,
      model: ended.model ?? undefined,
      source: ended.source ?? undefined,
    });
    const text = `This conversation goes on from an earlier one. Its summary:\n\n${summary}`;
    await this.getSession(info.id).appendMessage({ id: crypto.randomUUID(), role: "assistant", parts: [{ type: "text", text }] });
    this.#registry.end(sessionId, "compaction");
    return info;
  }

  async addCompaction(sessionId: string, summary: string, fromId: string, toId: string): Promise<StoredCompaction> {
    return this.getSession(sessionId).addCompaction(summary, fromId, toId);
  }

  async getCompactions(sessionId: string): Promise<StoredCompaction[]> {
    return this.getSession(sessionId).getCompactions();
  }

  /** Adds to the session's sums. Rejects with `unknown_session` and, for what is negative, `invalid_usage`. */
  async addUsage(sessionId: string, inputTokens: number, outputTokens: number, cost: number): Promise<void> {
    this.#registry.addUsage(sessionId, inputTokens, outputTokens, cost);
  }
}

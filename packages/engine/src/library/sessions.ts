/**
 * The library's entry: `Sessions` for the sessions of one Durable Object, and every public name beside it. Takes
 * the place of `agents/sessions` and `agents/experimental/memory/session` in an import.
 */
import { type SessionHost, databaseOf } from "./host.ts";
import { Session } from "./session.ts";
import type { SessionListener } from "./session-events.ts";
import type { SessionOptions } from "./session-options.ts";
import { AgentSessionProvider } from "./session-provider.ts";
import { ObjectSessions } from "./storage/object-sessions.ts";

export { Session } from "./session.ts";
export type { SessionOptions } from "./session-options.ts";
export { SessionManager } from "./manager/session-manager.ts";
export { AgentSessionProvider, type SessionProvider } from "./session-provider.ts";
export { AgentContextProvider } from "./context/agent-context-provider.ts";
export { AgentSearchProvider } from "./context/agent-search-provider.ts";
export { R2SkillProvider, type R2SkillOptions } from "./context/r2-skill-provider.ts";
export type { ContextDeclaration, ContextOptions } from "./context/context-blocks.ts";
export type { SessionTool, SessionTools } from "./context/session-tools.ts";
export type { ContextBlock } from "../context/context-block.ts";
export type { ContextProvider, SearchProvider, SkillProvider, WritableContextProvider } from "../context/providers.ts";
export { type CompactFunctionOptions, createCompactFunction } from "./compaction/create-compact-function.ts";
export { truncateOlderMessages, truncateOlderToolResults } from "./truncate-older.ts";
export type { TruncateOptions } from "../history/truncate-older.ts";
export type { ToolResultOptions } from "../history/truncate-tool-results.ts";
export { SessionError, type SessionErrorCode } from "./session-error.ts";
export { type SessionMessage, type SessionMessagePart, isCompactionMessage } from "./session-message.ts";
export type { SessionHost } from "./host.ts";
export type { SessionEvent, SessionListener, StoredCompaction } from "./session-events.ts";
export type { MirrorOptions, TransformingMirrorOptions } from "./mirror.ts";
export type { CompactContext, CompactFunction, TokenCounter, TokenCounterInput } from "./compaction/compactor.ts";
export type {
  AppendOptions,
  AppendResult,
  CompactResult,
  HistoryBatchOptions,
  HistoryOptions,
  HistoryRowStats,
  ImportOptions,
  RecentHistory,
  RecentHistoryOptions,
  SearchResult,
} from "./conversation.ts";

export class Sessions {
  readonly #host: SessionHost;
  readonly #sessions: ObjectSessions;
  readonly #options: SessionOptions;
  readonly #handles = new Map<string, Session>();

  constructor(host: SessionHost, options: SessionOptions = {}) {
    this.#host = host;
    this.#sessions = ObjectSessions.of(databaseOf(host));
    this.#options = options;
  }

  /** One handle an id: what is set on it holds wherever it is asked for. Without an id the default session. */
  session(sessionId = ""): Session {
    const known = this.#handles.get(sessionId);
    if (known !== undefined) return known;
    const session = new Session(new AgentSessionProvider(this.#host, sessionId), this.#options);
    this.#handles.set(sessionId, session);
    return session;
  }

  /**
   * Hears of every write of the object's sessions, in their order, after each is durable; the write waits for it.
   * A listener that fails is logged and fails nothing. Returns a function that ends it.
   */
  subscribe(listener: SessionListener): () => void {
    return this.#sessions.events.subscribe(listener);
  }
}

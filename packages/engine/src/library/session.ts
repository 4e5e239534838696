/**
 * One conversation: messages in a tree, read along a path, with summaries in place of what was compacted. Code
 * that was written for the `Session` of Cloudflare's Session API runs on it, of either generation: where the two
 * take other arguments both are taken, where they return other things the newer one's are.
 *
 * What can't be done rejects with a `SessionError` and its code; nothing is written then.
 */
import type { Role } from "@sessionplane/shared/message";
import type { ClientRules } from "../messages/client-source.ts";
import {
  type CompactAfterOptions,
  type CompactFunction,
  type CompactionErrorHandler,
  Compactor,
} from "./compaction/compactor.ts";
import type {
  AppendOptions,
  AppendResult,
  CompactResult,
  Conversation,
  HistoryBatchOptions,
  HistoryOptions,
  HistoryRowStats,
  ImportOptions,
  MessageSource,
  RecentHistory,
  RecentHistoryOptions,
  SearchResult,
  UpdateOptions,
  Writer,
} from "./conversation.ts";
import { batches, oneByOne } from "./history-streams.ts";
import type { SessionHost } from "./host.ts";
import { type MirrorOptions, type TransformingMirrorOptions, mirrorListener } from "./mirror.ts";
import { ProvidedConversation } from "./provided-conversation.ts";
import { SessionError } from "./session-error.ts";
import type { StoredCompaction } from "./session-events.ts";
import type { SessionMessage, SessionMessageInput } from "./session-message.ts";
import { AgentSessionProvider, type SessionProvider, isProvider } from "./session-provider.ts";

/** What a write with the source `client` may be. */
export type SessionOptions = {
  /** Keys of `metadata` that only the server sets: a client's are dropped, the server's stay. */
  readonly reservedMetadataKeys?: readonly string[] | undefined;
  /** Roles that a client may write; `user` alone when it is left out. Parts of tools need `assistant` or `tool`. */
  readonly clientRoles?: readonly Role[] | undefined;
};

/** A leaf's id, or the options that name it; null and nothing mean the active leaf. */
export type LeafArgument = string | null | { readonly leafId?: string | undefined };
const leafIn = (leaf: LeafArgument | undefined): string | undefined =>
  (typeof leaf === "object" ? leaf?.leafId : leaf) ?? undefined;

const USERS_ALONE: readonly Role[] = ["user"];
const DEFAULT_SEARCH_RESULTS = 20;

export class Session {
  readonly #provider: SessionProvider;
  readonly #rules: ClientRules;
  readonly #compactor = new Compactor();
  #sessionId: string;
  #used: Conversation | undefined;

  /** On a storage of the caller's own, or on ours: `new AgentSessionProvider(host, id)`. */
  constructor(provider: SessionProvider, { clientRoles = USERS_ALONE, reservedMetadataKeys = [] }: SessionOptions = {}) {
    this.#provider = provider;
    this.#rules = { client_roles: clientRoles, reserved_metadata_keys: reservedMetadataKeys };
    this.#sessionId = provider instanceof AgentSessionProvider ? provider.sessionId : "";
  }

  /**
   * The default session of a Durable Object, or the one that `forSession` names. Nothing is read or stored before
   * the first use, and the builder's methods come in any order.
   */
  static create(host: SessionHost | SessionProvider, options: SessionOptions = {}): Session {
    return new Session(isProvider(host) ? host : new AgentSessionProvider(host), options);
  }

  get #conversation(): Conversation {
    const provider = this.#provider;
    this.#used ??=
      provider instanceof AgentSessionProvider
        ? provider.conversationOf(this.#sessionId)
        : new ProvidedConversation(provider, this.#sessionId);
    return this.#used;
  }

  // The builder

  /** Another session of the same object. Throws `in_use` once the session was used. */
  forSession(sessionId: string): this {
    if (this.#used !== undefined) throw new SessionError("in_use", "the session was used already");
    this.#sessionId = sessionId;
    return this;
  }

  /** What summarises: `createCompactFunction`, or a function of the caller's own. */
  onCompaction(compact: CompactFunction): this {
    this.#compactor.use(compact);
    return this;
  }

  /** Compact after an append when the history has more tokens than this. Needs `onCompaction`. */
  compactAfter(tokenThreshold: number, options: CompactAfterOptions = {}): this {
    this.#compactor.after(tokenThreshold, options);
    return this;
  }

  /** Hears what made an automatic compaction fail. Without it the console does. */
  onCompactionError(handler: CompactionErrorHandler): this {
    this.#compactor.onError(handler);
    return this;
  }

  // Writing

  #writer(source: MessageSource = "server"): Writer {
    return { source, rules: this.#rules };
  }

  /**
   * Stores a message below the active leaf, or below `parentId` (null: as a root), and makes it the active leaf.
   * The first content of an id stands: appending it again changes nothing. Waits for the compaction that it made
   * due, and succeeds whatever becomes of that. Rejects with `unknown_parent`, `invalid_message`,
   * `reserved_message_id`, `role_not_allowed`, `part_not_allowed`.
   */
  async appendMessage(message: SessionMessageInput, parentId?: string | null): Promise<AppendResult>;
  async appendMessage(message: SessionMessageInput, options: AppendOptions): Promise<AppendResult>;
  async appendMessage(message: SessionMessageInput, where?: string | null | AppendOptions): Promise<AppendResult> {
    const { parentId, source } = typeof where === "object" && where !== null ? where : { parentId: where, source: undefined };
    const conversation = this.#conversation;
    const { parentId: parent, ...result } = await conversation.append(message, parentId, this.#writer(source));
    await conversation.events.emit({ type: "append", sessionId: conversation.sessionId, parentId: parent, ...result });
    if (result.inserted) await this.#compactor.afterAppend(conversation);
    return result;
  }

  /** Other content for a message; its place stays. Null: there is none with its id. The same content writes nothing. */
  async updateMessage(message: SessionMessageInput, { source }: UpdateOptions = {}): Promise<SessionMessage | null> {
    const conversation = this.#conversation;
    const updated = await conversation.update(message, this.#writer(source));
    if (updated === null) return null;
    if (updated.changed)
      await conversation.events.emit({ type: "update", sessionId: conversation.sessionId, message: updated.message });
    return updated.message;
  }

  /** Updates what is there and appends what is not; `parentId` is for a new message alone. */
  async upsertMessage(message: SessionMessageInput, options: AppendOptions = {}): Promise<AppendResult> {
    const updated = await this.updateMessage(message, options);
    return updated === null ? this.appendMessage(message, options) : { inserted: false, message: updated };
  }

  /** What hung below a deleted message hangs below the nearest one that is left. Unknown ids are passed over. */
  async deleteMessages(messageIds: readonly string[]): Promise<void> {
    const conversation = this.#conversation;
    const deleted = await conversation.delete(messageIds);
    if (deleted.length > 0)
      await conversation.events.emit({ type: "delete", sessionId: conversation.sessionId, messageIds: deleted });
  }

  /** Deletes the session's messages and compactions, and nothing of another session. */
  async clearMessages(): Promise<void> {
    const conversation = this.#conversation;
    await conversation.clear();
    await conversation.events.emit({ type: "clear", sessionId: conversation.sessionId });
  }

  /**
   * Stores a message as it was elsewhere, with its parent and time. The active leaf stays, unless the message goes
   * on from it. Rejects with `unknown_parent` and `cycle`: parents come before their children.
   */
  async importMessage(message: SessionMessageInput, options: ImportOptions): Promise<AppendResult> {
    const conversation = this.#conversation;
    const result = await conversation.import(message, options);
    if (result.inserted) {
      const { sessionId } = conversation;
      await conversation.events.emit({ type: "import", sessionId, message: result.message, parentId: options.parentId });
    }
    return result;
  }

  // Reading

  /** Null: none with this id. */
  getMessage(id: string): Promise<SessionMessage | null> {
    return this.#conversation.getMessage(id);
  }

  /** The whole path from its root, compactions applied. Rejects with `unknown_leaf`, as every read of a path does. */
  async getHistory(leaf?: LeafArgument | HistoryOptions): Promise<SessionMessage[]> {
    const options = typeof leaf === "object" && leaf !== null ? leaf : { leafId: leafIn(leaf) };
    const messages: SessionMessage[] = [];
    for await (const message of this.history(options)) messages.push(message);
    return messages;
  }

  /** The same one by one, a window of it in memory at a time. It shows what is written while it is read. */
  history(options: HistoryOptions = {}): AsyncGenerator<SessionMessage, void, undefined> {
    return oneByOne(this.#conversation.windows(options), options.signal);
  }

  historyBatches(options: HistoryBatchOptions = {}): AsyncGenerator<SessionMessage[], void, undefined> {
    return batches(this.#conversation.windows(options), options);
  }

  /** The longest run of the newest messages that fits `maxBytes`, the newest one in any case. */
  async getRecentHistory(maxBytes: number, options?: RecentHistoryOptions): Promise<RecentHistory>;
  async getRecentHistory(options: RecentHistoryOptions & { readonly maxBytes: number }): Promise<RecentHistory>;
  async getRecentHistory(
    limit: number | (RecentHistoryOptions & { readonly maxBytes: number }),
    options: RecentHistoryOptions = {},
  ): Promise<RecentHistory> {
    return typeof limit === "number"
      ? this.#conversation.getRecentHistory(limit, options)
      : this.#conversation.getRecentHistory(limit.maxBytes, limit);
  }

  /** What each message of the path weighs, oldest first. Reads no content. */
  getHistoryRowStats(leaf?: LeafArgument): Promise<HistoryRowStats[]> {
    return this.#conversation.getHistoryRowStats(leafIn(leaf));
  }

  /** The message that the next append hangs below; null in an empty session. */
  getLatestLeaf(): Promise<SessionMessage | null> {
    return this.#conversation.getLatestLeaf();
  }

  /** The messages right below one, oldest first. Rejects with `unknown_message`. */
  getBranches(messageId: string): Promise<SessionMessage[]> {
    return this.#conversation.getBranches(messageId);
  }

  /** How many messages the path has, those that a compaction stands for among them. */
  getPathLength(leaf?: LeafArgument): Promise<number> {
    return this.#conversation.getPathLength(leafIn(leaf));
  }

  /** Rejects with `unsupported` where the session's storage searches nothing. */
  async search(query: string, { limit = DEFAULT_SEARCH_RESULTS }: { readonly limit?: number } = {}): Promise<SearchResult[]> {
    const conversation = this.#conversation;
    if (conversation.search === undefined) throw new SessionError("unsupported", "the session's storage has no search");
    return conversation.search(query, limit);
  }

  // Compaction

  /** Summarises now, whatever the threshold. Null: nothing to gain. Rejects with what the function throws. */
  async compact(leaf?: LeafArgument): Promise<CompactResult | null> {
    return this.#compactor.compact(this.#conversation, leafIn(leaf));
  }

  /** A summary that stands for the messages from one to another of the same path when it is read; they stay. */
  async addCompaction(summary: string, fromMessageId: string, toMessageId: string): Promise<StoredCompaction> {
    const conversation = this.#conversation;
    const record = await conversation.addCompaction(summary, fromMessageId, toMessageId);
    await conversation.events.emit({ type: "compaction", sessionId: conversation.sessionId, record });
    return record;
  }

  /** Oldest first. */
  getCompactions(): Promise<StoredCompaction[]> {
    return this.#conversation.getCompactions();
  }

  // Watching

  /** Keeps a list in memory like the session's messages. Returns a function that ends it. */
  mirror(options: MirrorOptions): () => void;
  mirror<T extends { readonly id: string }>(options: TransformingMirrorOptions<T>): () => void;
  mirror<T extends { readonly id: string }>(options: MirrorOptions | TransformingMirrorOptions<T>): () => void {
    const { events, sessionId } = this.#conversation;
    const listener =
      "transform" in options
        ? mirrorListener(sessionId, options)
        : mirrorListener(sessionId, { ...options, transform: (message) => message });
    return events.subscribe(listener);
  }
}

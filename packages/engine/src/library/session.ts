/**
 * One conversation: messages in a tree, read along a path, with summaries in place of what was compacted, and the
 * context that a model gets with them. Code that was written for the `Session` of Cloudflare's Session API runs on
 * it, of either generation: where the two take other arguments both are taken, where they return other things the
 * newer one's are. What can't be done rejects with a `SessionError` and its code; nothing is written then.
 */
import type { ContextBlock } from "../context/context-block.ts";
import type { WritableContextProvider } from "../context/providers.ts";
import {
  type CompactAfterOptions,
  type CompactFunction,
  type CompactionErrorHandler,
  Compactor,
} from "./compaction/compactor.ts";
import type { ContextOptions } from "./context/context-blocks.ts";
import { SessionContext } from "./context/session-context.ts";
import type { SessionTools } from "./context/session-tools.ts";
import type {
  AppendOptions,
  AppendResult,
  CompactResult,
  Conversation,
  HistoryBatchOptions,
  HistoryOptions,
  HistoryRowStats,
  ImportOptions,
  RecentHistory,
  RecentHistoryOptions,
  SearchResult,
  UpdateOptions,
} from "./conversation.ts";
import { batches, oneByOne } from "./history-streams.ts";
import type { SessionHost } from "./host.ts";
import { type MirrorOptions, type TransformingMirrorOptions, mirrorListener } from "./mirror.ts";
import { ProvidedConversation } from "./provided-conversation.ts";
import { SessionError } from "./session-error.ts";
import type { StoredCompaction } from "./session-events.ts";
import type { SessionMessage, SessionMessageInput } from "./session-message.ts";
import { type LeafArgument, type SessionOptions, leafIn } from "./session-options.ts";
import { AgentSessionProvider, type SessionProvider, isProvider } from "./session-provider.ts";
import { SessionWrites } from "./session-writes.ts";

type RecentBytes = RecentHistoryOptions & { readonly maxBytes: number };
const DEFAULT_SEARCH_RESULTS = 20;

export class Session {
  readonly #provider: SessionProvider;
  readonly #context: SessionContext;
  readonly #compactor: Compactor;
  readonly #writes: SessionWrites;
  #sessionId: string;
  #used: Conversation | undefined;

  /** On a storage of the caller's own, or on ours: `new AgentSessionProvider(host, id)`. */
  constructor(provider: SessionProvider, options: SessionOptions = {}) {
    const isOurs = provider instanceof AgentSessionProvider;
    this.#provider = provider;
    this.#sessionId = isOurs ? provider.sessionId : "";
    this.#context = new SessionContext(() => this.#conversation, isOurs, options);
    this.#compactor = new Compactor(this.#context);
    this.#writes = new SessionWrites(options, {
      appended: (conversation) => this.#compactor.afterAppend(conversation),
      cleared: () => this.#context.historyChanged(),
    });
  }

  /** A Durable Object's default session, or the one that `forSession` names. Nothing is read before the first use. */
  static create(host: SessionHost | SessionProvider, options: SessionOptions = {}): Session {
    return new Session(isProvider(host) ? host : new AgentSessionProvider(host), options);
  }

  get #conversation(): Conversation {
    const [provider, id] = [this.#provider, this.#sessionId];
    const isOurs = provider instanceof AgentSessionProvider;
    this.#used ??= isOurs ? provider.conversationOf(id) : new ProvidedConversation(provider, id);
    return this.#used;
  }

  // The builder, in any order

  /** Another session of the same object. Throws `in_use` once the session was used. */
  forSession(sessionId: string): this {
    if (this.#used !== undefined) throw new SessionError("in_use", "the session was used already");
    this.#sessionId = sessionId;
    return this;
  }

  /** A section of the system prompt. The last one under a label holds. Without a provider: a text of the session's own. */
  withContext(label: string, options: ContextOptions = {}): this {
    this.#context.blocks.declare({ ...options, label });
    return this;
  }

  /** The frozen prompt outlives an eviction: in the session's tables, or in a provider. Throws `provider_required`. */
  withCachedPrompt(provider?: WritableContextProvider): this {
    this.#context.keepPrompt(provider);
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

  /**
   * Stores a message below the active leaf, or below `parentId` (null: as a root), and makes it the active leaf.
   * The first content of an id stands: appending it again changes nothing. Waits for the compaction that it made
   * due, whatever becomes of that. Rejects with `unknown_parent`, `invalid_message`, `reserved_message_id`,
   * `role_not_allowed`, `part_not_allowed`.
   */
  async appendMessage(message: SessionMessageInput, parentId?: string | null): Promise<AppendResult>;
  async appendMessage(message: SessionMessageInput, options: AppendOptions): Promise<AppendResult>;
  async appendMessage(message: SessionMessageInput, where?: string | null | AppendOptions): Promise<AppendResult> {
    const options = typeof where === "object" && where !== null ? where : { parentId: where };
    return this.#writes.append(this.#conversation, message, options);
  }

  /** Other content for a message; its place stays. Null: there is none with its id. The same content writes nothing. */
  async updateMessage(message: SessionMessageInput, options: UpdateOptions = {}): Promise<SessionMessage | null> {
    return this.#writes.update(this.#conversation, message, options);
  }

  /** Updates what is there and appends what is not; `parentId` is for a new message alone. */
  async upsertMessage(message: SessionMessageInput, options: AppendOptions = {}): Promise<AppendResult> {
    const updated = await this.updateMessage(message, options);
    return updated === null ? this.appendMessage(message, options) : { inserted: false, message: updated };
  }

  /** What hung below a deleted message hangs below the nearest one that is left. Unknown ids are passed over. */
  async deleteMessages(messageIds: readonly string[]): Promise<void> {
    return this.#writes.delete(this.#conversation, messageIds);
  }

  /** Deletes the messages, compactions and the state of skills of this session alone. Its blocks stay. */
  async clearMessages(): Promise<void> {
    return this.#writes.clear(this.#conversation);
  }

  /**
   * Stores a message as it was elsewhere, with its parent and time. The active leaf stays, unless the message goes
   * on from it. Rejects with `unknown_parent` and `cycle`: parents come before their children.
   */
  async importMessage(message: SessionMessageInput, options: ImportOptions): Promise<AppendResult> {
    return this.#writes.import(this.#conversation, message, options);
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
  async getRecentHistory(options: RecentBytes): Promise<RecentHistory>;
  async getRecentHistory(limit: number | RecentBytes, options: RecentHistoryOptions = {}): Promise<RecentHistory> {
    const { maxBytes, ...rest } = typeof limit === "number" ? { ...options, maxBytes: limit } : limit;
    return this.#conversation.getRecentHistory(maxBytes, rest);
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
    const found = this.#conversation.search?.(query, limit);
    if (found === undefined) throw new SessionError("unsupported", "the session's storage has no search");
    return found;
  }

  // Compaction

  /** Summarises now, whatever the threshold. Null: nothing to gain. Rejects with what the function throws. */
  async compact(leaf?: LeafArgument): Promise<CompactResult | null> {
    return this.#compactor.compact(this.#conversation, leafIn(leaf));
  }

  /** A summary that stands for the messages from one to another of the same path when it is read; they stay. */
  async addCompaction(summary: string, fromMessageId: string, toMessageId: string): Promise<StoredCompaction> {
    return this.#writes.addCompaction(this.#conversation, summary, fromMessageId, toMessageId);
  }

  /** Oldest first. */
  getCompactions(): Promise<StoredCompaction[]> {
    return this.#conversation.getCompactions();
  }

  // Context

  /** Null: none under this label. A text of the object's is read now; another one is as it was last loaded, at first "". */
  getContextBlock(label: string): ContextBlock | null {
    return this.#context.blocks.find(label);
  }

  /** In the order in which they were declared. */
  getContextBlocks(): ContextBlock[] {
    return this.#context.blocks.all();
  }

  /** A frozen prompt stays. Rejects with `unknown_block`, `readonly_block`, `keyed_block`, `over_limit`. */
  async replaceContextBlock(label: string, content: string): Promise<ContextBlock> {
    return this.#context.blocks.replace(label, content);
  }

  /** The same below the text that is there. */
  async appendContextBlock(label: string, content: string): Promise<ContextBlock> {
    return this.#context.blocks.append(label, content);
  }

  /** A block beside those that were declared, loaded at once. Rejects with `duplicate_block`, `provider_required`. */
  async addContext(label: string, options: ContextOptions = {}): Promise<ContextBlock> {
    return this.#context.add(label, options);
  }

  /** False: there was none. What it kept stays, for when it is added again. */
  removeContext(label: string): boolean {
    return this.#context.remove(label);
  }

  /** The system prompt: rendered by the first call, the same from then on. */
  freezeSystemPrompt(): Promise<string> {
    return this.#context.prompt.freeze();
  }

  /** Renders it anew from what the providers say now. `compact()` and `clearMessages()` do so with a frozen one. */
  refreshSystemPrompt(): Promise<string> {
    return this.#context.prompt.refresh();
  }

  /** What a model should be told beside a frozen prompt of blocks that `remind`: for a call's newest message. Null: nothing. */
  reminder(): Promise<string | null> {
    return this.#context.prompt.reminder();
  }

  /** The model's tools for what the session has, for `generateText` as they are. */
  tools(): Promise<SessionTools> {
    return this.#context.tools();
  }

  // Watching

  /** Keeps a list in memory like the session's messages. Returns a function that ends it. */
  mirror(options: MirrorOptions): () => void;
  mirror<T extends { readonly id: string }>(options: TransformingMirrorOptions<T>): () => void;
  mirror<T extends { readonly id: string }>(options: MirrorOptions | TransformingMirrorOptions<T>): () => void {
    const { events, sessionId } = this.#conversation;
    return events.subscribe(mirrorListener(sessionId, options));
  }
}

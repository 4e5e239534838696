/**
 * When a session is compacted and by what: a caller's function, by hand or when an append passes the threshold.
 * One at a time for a leaf, whichever handle asks. Knows the function, not how it summarises.
 */
import type { ContextBlock } from "../../context/context-block.ts";
import type { CompactResult, Conversation } from "../conversation.ts";
import { logError } from "../log.ts";
import { SessionError } from "../session-error.ts";
import type { SessionMessage } from "../session-message.ts";

/** Tokens of some messages. */
export type MessageTokenCounter = (messages: SessionMessage[]) => number | Promise<number>;

/** `systemPrompt` and `contextBlocks` are what the session itself manages of them. */
export type TokenCounterInput = {
  messages: SessionMessage[];
  systemPrompt: string;
  contextBlocks: readonly ContextBlock[];
};
/** Tokens of all that goes to a model. What is no number counts as 0. */
export type TokenCounter = (input: TokenCounterInput) => number | Promise<number>;

export type CompactContext = {
  /** The counter of `compactAfter`, for one or several messages; undefined when it has none. */
  tokenCounter?: MessageTokenCounter;
};

/** The range to summarise and its summary; null when there is nothing to gain. */
export type CompactFunction = (
  messages: SessionMessage[],
  context?: CompactContext,
) => CompactResult | null | Promise<CompactResult | null>;

export type CompactAfterOptions = { readonly tokenCounter?: TokenCounter | undefined };
export type CompactionErrorHandler = (error: unknown) => void | Promise<void>;

/** What goes to a model beside the messages. Looking at it stores nothing. */
export interface Surroundings {
  promptTokens(): Promise<number>;
  look(): Promise<Pick<TokenCounterInput, "systemPrompt" | "contextBlocks">>;
  /** Never fails. */
  historyChanged(): Promise<void>;
}

/** After an attempt the next one waits for so many appends, and for this share of what it read. */
const MIN_APPENDS_BETWEEN = 4;
const SHARE_BETWEEN = 1 / 32;

const asCount = (tokens: number): number => (Number.isFinite(tokens) ? Math.max(0, Math.ceil(tokens)) : 0);

/** Compactions under way, by the object that all handles of a session share, its id, and the leaf. */
const underWay = new WeakMap<object, Map<string, Promise<CompactResult | null>>>();

export class Compactor {
  readonly #surroundings: Surroundings;
  #function: CompactFunction | null = null;
  #threshold: number | null = null;
  #counter: TokenCounter | undefined;
  #onError: CompactionErrorHandler | undefined;
  #appendsToSkip = 0;
  #isBusy = false;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  use(compact: CompactFunction): void {
    this.#function = compact;
    this.#appendsToSkip = 0;
  }

  after(threshold: number, { tokenCounter }: CompactAfterOptions): void {
    if (!(threshold >= 0)) throw new SessionError("invalid_argument", "the threshold is a number of tokens");
    this.#threshold = threshold;
    this.#counter = tokenCounter;
    this.#appendsToSkip = 0;
  }

  onError(handler: CompactionErrorHandler): void {
    this.#onError = handler;
  }

  /** Compacts now. Rejects with what the function throws. Null: it found nothing to do. */
  async compact(conversation: Conversation, leafId: string | undefined): Promise<CompactResult | null> {
    const result = await this.#join(conversation, leafId);
    if (result !== null) await this.#surroundings.historyChanged();
    return result;
  }

  /** The compaction of this leaf that is under way, or a new one. */
  #join(conversation: Conversation, leafId: string | undefined): Promise<CompactResult | null> {
    const compact = this.#function;
    if (compact === null) return Promise.reject(new SessionError("no_compaction_function", "call onCompaction() first"));
    const running = underWay.get(conversation.events) ?? new Map<string, Promise<CompactResult | null>>();
    underWay.set(conversation.events, running);
    const key = JSON.stringify([conversation.sessionId, leafId ?? null]);
    const started = running.get(key) ?? this.#run(conversation, leafId, compact).finally(() => running.delete(key));
    running.set(key, started);
    return started;
  }

  async #run(conversation: Conversation, leafId: string | undefined, compact: CompactFunction): Promise<CompactResult | null> {
    const opened = await conversation.openCompaction(leafId);
    const result = await compact(opened.history, this.#context());
    if (result === null || result.summary.trim() === "") return null;
    const record = await opened.commit(result);
    await conversation.events.emit({ type: "compact", sessionId: conversation.sessionId, record });
    return { fromMessageId: record.fromMessageId, toMessageId: record.toMessageId, summary: record.summary };
  }

  /** One counter decides when and what, unless the function has its own. What it cuts is messages alone. */
  #context(): CompactContext {
    const counter = this.#counter;
    if (counter === undefined) return {};
    return { tokenCounter: async (messages) => asCount(await counter({ messages, systemPrompt: "", contextBlocks: [] })) };
  }

  async #tokens(conversation: Conversation): Promise<number> {
    const counter = this.#counter;
    if (counter === undefined) return (await conversation.estimateTokens()) + (await this.#surroundings.promptTokens());
    const { history } = await conversation.openCompaction(undefined);
    return asCount(await counter({ messages: history, ...(await this.#surroundings.look()) }));
  }

  /** After an append that inserted. Never fails: the message is stored. */
  async afterAppend(conversation: Conversation): Promise<void> {
    if (this.#threshold === null || this.#function === null || this.#isBusy) return;
    if (this.#appendsToSkip > 0) {
      this.#appendsToSkip -= 1;
      return;
    }
    this.#isBusy = true;
    try {
      if ((await this.#tokens(conversation)) > this.#threshold) await this.#attempt(conversation);
    } catch (error) {
      await this.#report(error);
    } finally {
      this.#isBusy = false;
    }
  }

  /** Whatever comes of it, the next appends go without: a history that can't be made smaller would be read by each. */
  async #attempt(conversation: Conversation): Promise<void> {
    const length = await conversation.getPathLength(undefined);
    this.#appendsToSkip = Math.max(MIN_APPENDS_BETWEEN, Math.ceil(length * SHARE_BETWEEN)) - 1;
    await this.compact(conversation, undefined);
  }

  async #report(error: unknown): Promise<void> {
    if (this.#onError === undefined) {
      logError("automatic_compaction_failed", error);
      return;
    }
    try {
      await this.#onError(error);
    } catch (failure) {
      logError("compaction_error_handler_failed", failure);
    }
  }
}

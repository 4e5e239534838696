/**
 * A session in a caller's own storage: the twelve methods as what a session asks for. What a provider has no
 * method for is made of whole reads; what can't be made of them is refused as `unsupported`.
 */
import { messageSchema } from "@sessionplane/shared/message";
import { admitFromClient } from "../messages/client-source.ts";
import { utf8Bytes } from "../messages/split-text.ts";
import { take } from "../history/recent-window.ts";
import { estimateMessage } from "../tokens/estimate.ts";
import type {
  Appended,
  AppendResult,
  CompactResult,
  Conversation,
  HistoryOptions,
  HistoryRowStats,
  OpenCompaction,
  RecentHistory,
  RecentHistoryOptions,
  SearchResult,
  Weighed,
  Writer,
} from "./conversation.ts";
import { ScannedSkills } from "./context/scanned-skills.ts";
import { SessionError, unknownMessage } from "./session-error.ts";
import { EventBus, type StoredCompaction } from "./session-events.ts";
import { type SessionMessage, type SessionMessageInput, toMessage, toSessionMessage } from "./session-message.ts";
import type { SessionProvider } from "./session-provider.ts";

const ANY_NUMBER = Number.MAX_SAFE_INTEGER;

const bytesOf = (message: SessionMessage): number => utf8Bytes(JSON.stringify(message));
const tokensOf = (message: SessionMessage): number => estimateMessage(messageSchema.parse(message));

export class ProvidedConversation implements Conversation {
  readonly sessionId: string;
  readonly events = new EventBus();
  readonly skills: ScannedSkills;
  readonly #provider: SessionProvider;
  readonly search?: (query: string, limit: number) => Promise<SearchResult[]>;

  constructor(provider: SessionProvider, sessionId: string) {
    this.sessionId = sessionId;
    this.#provider = provider;
    this.skills = new ScannedSkills({
      history: () => this.#history(undefined),
      rewrite: async (message) => {
        await provider.updateMessage(message);
        await this.events.emit({ type: "update", sessionId, message });
      },
    });
    if (provider.searchMessages !== undefined)
      this.search = async (query, limit) => (await provider.searchMessages?.(query, limit)) ?? [];
  }

  async getMessage(id: string): Promise<SessionMessage | null> {
    return this.#provider.getMessage(id);
  }

  async getLatestLeaf(): Promise<SessionMessage | null> {
    return this.#provider.getLatestLeaf();
  }

  async getBranches(id: string): Promise<SessionMessage[]> {
    await this.#mustHave(id, unknownMessage(id));
    return this.#provider.getBranches(id);
  }

  async getPathLength(leafId: string | undefined): Promise<number> {
    await this.#checkLeaf(leafId);
    return this.#provider.getPathLength(leafId);
  }

  async #mustHave(id: string, otherwise: SessionError): Promise<void> {
    if ((await this.getMessage(id)) === null) throw otherwise;
  }

  async #checkLeaf(leafId: string | undefined): Promise<void> {
    if (leafId === undefined) return;
    await this.#mustHave(leafId, new SessionError("unknown_leaf", `${leafId} is not a message of this session`));
  }

  async #history(leafId: string | undefined): Promise<SessionMessage[]> {
    await this.#checkLeaf(leafId);
    return [...(await this.#provider.getHistory(leafId))];
  }

  async *windows({ leafId, newestFirst, signal }: HistoryOptions): AsyncGenerator<readonly Weighed[], void, undefined> {
    signal?.throwIfAborted();
    const history = await this.#history(leafId);
    yield (newestFirst === true ? history.reverse() : history).map((message) => ({ message, bytes: bytesOf(message) }));
  }

  async getRecentHistory(maxBytes: number, { leafId, minRecentMessages = 1 }: RecentHistoryOptions): Promise<RecentHistory> {
    const sized = (await this.#history(leafId)).map((message) => ({ message, bytes: bytesOf(message), tokens: 0 }));
    const newestFirst = sized.toReversed();
    const fitting = take(newestFirst, { count: ANY_NUMBER, bytes: maxBytes, tokens: ANY_NUMBER }).taken.length;
    const taken = newestFirst.slice(0, Math.max(fitting, minRecentMessages)).reverse();
    return {
      messages: taken.map(({ message }) => message),
      truncated: taken.length < sized.length,
      totalContentBytes: sized.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }

  async getHistoryRowStats(leafId: string | undefined): Promise<HistoryRowStats[]> {
    return (await this.#history(leafId)).map((message) => ({
      id: message.id,
      role: message.role,
      bytes: bytesOf(message),
      tokenEstimate: tokensOf(message),
    }));
  }

  async estimateTokens(): Promise<number> {
    return (await this.#history(undefined)).reduce((sum, message) => sum + tokensOf(message), 0);
  }

  async append(input: SessionMessageInput, parentId: string | null | undefined, writer: Writer): Promise<Appended> {
    const message = this.#admit(input, null, writer);
    const parent = parentId === undefined ? ((await this.getLatestLeaf())?.id ?? null) : parentId;
    const known = await this.getMessage(message.id);
    if (known !== null) return { inserted: false, message: known, parentId: parent };
    if (parent !== null)
      await this.#mustHave(parent, new SessionError("unknown_parent", `${parent} is not a message of this session`));
    await this.#provider.appendMessage(message, parentId);
    return { inserted: true, message: (await this.getMessage(message.id)) ?? message, parentId: parent };
  }

  #admit(input: SessionMessageInput, before: SessionMessage | null, { source, rules }: Writer): SessionMessage {
    const message = toMessage(input);
    if (source === "server") return toSessionMessage(message);
    const admitted = admitFromClient(message, before === null ? null : messageSchema.parse(before), rules, "");
    if (admitted.ok) return toSessionMessage(admitted.value);
    throw new SessionError(
      admitted.error.code === "part_not_allowed" ? "part_not_allowed" : "role_not_allowed",
      admitted.error.detail,
    );
  }

  async update(input: SessionMessageInput, writer: Writer): Promise<{ message: SessionMessage; changed: boolean } | null> {
    const before = await this.getMessage(toMessage(input).id);
    if (before === null) return null;
    const message = this.#admit(input, before, writer);
    if (JSON.stringify(before) === JSON.stringify(message)) return { message: before, changed: false };
    await this.#provider.updateMessage(message);
    return { message: (await this.getMessage(message.id)) ?? message, changed: true };
  }

  async import(): Promise<AppendResult> {
    throw new SessionError("unsupported", "a session in a storage of its own imports nothing: append to it");
  }

  async delete(ids: readonly string[]): Promise<string[]> {
    const present: string[] = [];
    for (const id of new Set(ids)) if ((await this.getMessage(id)) !== null) present.push(id);
    if (present.length > 0) await this.#provider.deleteMessages(present);
    return present;
  }

  async clear(): Promise<void> {
    await this.#provider.clearMessages();
    this.skills.clear();
  }

  async addCompaction(summary: string, fromId: string, toId: string): Promise<StoredCompaction> {
    if (summary.trim() === "") throw new SessionError("invalid_summary", "the summary is empty");
    for (const id of [fromId, toId]) await this.#mustHave(id, unknownMessage(id));
    return this.#provider.addCompaction(summary, fromId, toId);
  }

  async getCompactions(): Promise<StoredCompaction[]> {
    return this.#provider.getCompactions();
  }

  async openCompaction(leafId: string | undefined): Promise<OpenCompaction> {
    const history = await this.#history(leafId);
    return { history, commit: (result) => this.#commit(history, result) };
  }

  /** The earlier compaction right before a range goes into it, as its function was given it to go on from. */
  async #commit(
    history: readonly SessionMessage[],
    { fromMessageId, toMessageId, summary }: CompactResult,
  ): Promise<StoredCompaction> {
    const from = history.findIndex(({ id }) => id === fromMessageId);
    const to = history.findIndex(({ id }) => id === toMessageId);
    if (from === -1 || to < from)
      throw new SessionError("invalid_range", "a range begins and ends with messages of one path, in its order");
    const compactions = new Map((await this.getCompactions()).map((one) => [`compaction_${one.id}`, one]));
    const earlier = compactions.get(history[from]?.id ?? "") ?? compactions.get(history[from - 1]?.id ?? "");
    const last = compactions.get(toMessageId);
    return this.addCompaction(summary, earlier?.fromMessageId ?? fromMessageId, last?.toMessageId ?? toMessageId);
  }
}

/** The writes of a session with all that follows from one: who is told of it, and what it makes due. */
import type { Role } from "@sessionplane/shared/message";
import type { ClientRules } from "../messages/client-source.ts";
import type {
  AppendOptions,
  AppendResult,
  Conversation,
  ImportOptions,
  MessageSource,
  UpdateOptions,
  Writer,
} from "./conversation.ts";
import type { StoredCompaction } from "./session-events.ts";
import type { SessionMessage, SessionMessageInput } from "./session-message.ts";
import type { SessionOptions } from "./session-options.ts";

const USERS_ALONE: readonly Role[] = ["user"];

/** Called after a write. Neither fails. */
type Consequences = {
  readonly appended: (conversation: Conversation) => Promise<void>;
  readonly cleared: () => Promise<void>;
};

export class SessionWrites {
  readonly #rules: ClientRules;
  readonly #then: Consequences;

  constructor({ clientRoles = USERS_ALONE, reservedMetadataKeys = [] }: SessionOptions, then: Consequences) {
    this.#rules = { client_roles: clientRoles, reserved_metadata_keys: reservedMetadataKeys };
    this.#then = then;
  }

  #writer(source: MessageSource = "server"): Writer {
    return { source, rules: this.#rules };
  }

  async append(
    conversation: Conversation,
    message: SessionMessageInput,
    { parentId, source }: AppendOptions,
  ): Promise<AppendResult> {
    const { parentId: parent, ...result } = await conversation.append(message, parentId, this.#writer(source));
    await conversation.events.emit({ type: "append", sessionId: conversation.sessionId, parentId: parent, ...result });
    if (result.inserted) await this.#then.appended(conversation);
    return result;
  }

  async update(
    conversation: Conversation,
    message: SessionMessageInput,
    { source }: UpdateOptions,
  ): Promise<SessionMessage | null> {
    const updated = await conversation.update(message, this.#writer(source));
    if (updated === null) return null;
    if (updated.changed)
      await conversation.events.emit({ type: "update", sessionId: conversation.sessionId, message: updated.message });
    return updated.message;
  }

  async delete(conversation: Conversation, messageIds: readonly string[]): Promise<void> {
    const deleted = await conversation.delete(messageIds);
    if (deleted.length > 0)
      await conversation.events.emit({ type: "delete", sessionId: conversation.sessionId, messageIds: deleted });
  }

  async clear(conversation: Conversation): Promise<void> {
    await conversation.clear();
    await this.#then.cleared();
    await conversation.events.emit({ type: "clear", sessionId: conversation.sessionId });
  }

  async import(conversation: Conversation, message: SessionMessageInput, options: ImportOptions): Promise<AppendResult> {
    const result = await conversation.import(message, options);
    if (result.inserted) {
      const { sessionId } = conversation;
      await conversation.events.emit({ type: "import", sessionId, message: result.message, parentId: options.parentId });
    }
    return result;
  }

  async addCompaction(conversation: Conversation, summary: string, fromId: string, toId: string): Promise<StoredCompaction> {
    const record = await conversation.addCompaction(summary, fromId, toId);
    await conversation.events.emit({ type: "compaction", sessionId: conversation.sessionId, record });
    return record;
  }
}

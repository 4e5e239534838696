/**
 * What is told of writes, after they are durable. In memory and of this isolate alone: whoever is not there
 * when it happens does not hear of it. Source of the types: Cloudflare's Session API.
 */
import { logError } from "./log.ts";
import type { SessionMessage } from "./session-message.ts";

/** A stored summary. Ids are of messages; `createdAt` is an ISO 8601 instant. */
export type StoredCompaction = {
  id: string;
  summary: string;
  fromMessageId: string;
  toMessageId: string;
  createdAt: string;
};

type SessionChange =
  /** `inserted` is false when the id was there already: then `message` is what is stored. */
  | { type: "append"; message: SessionMessage; parentId: string | null; inserted: boolean }
  | { type: "update"; message: SessionMessage }
  /** Those that were there. */
  | { type: "delete"; messageIds: string[] }
  | { type: "clear" }
  /** `compact()`, or a compaction that an append made due. */
  | { type: "compact"; record: StoredCompaction }
  /** `addCompaction()`. */
  | { type: "compaction"; record: StoredCompaction }
  | { type: "import"; message: SessionMessage; parentId: string | null };

export type SessionEvent = SessionChange & { sessionId: string };
export type SessionListener = (event: SessionEvent) => void | Promise<void>;

export class EventBus {
  readonly #listeners = new Set<SessionListener>();

  /** Returns a function that ends it. */
  subscribe(listener: SessionListener): () => void {
    // One function may be subscribed twice, and each of the two ends by itself.
    const own: SessionListener = (event) => listener(event);
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  /**
   * Calls every listener at once, in the order of the writes, and resolves when all are through. A listener
   * that fails is logged: the write has happened.
   */
  async emit(event: SessionEvent): Promise<void> {
    const calls = [...this.#listeners].map(async (listener) => listener(event));
    for (const outcome of await Promise.allSettled(calls)) {
      if (outcome.status === "rejected") logError("session_subscriber_failed", outcome.reason);
    }
  }
}

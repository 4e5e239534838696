/**
 * Which documents of skill blocks a session has loaded, in its own tables: survives an eviction, and unloading
 * hides the outputs that brought them in from the history without changing a message.
 */
import { estimateText } from "../../tokens/estimate.ts";
import type { ObjectSessions } from "../storage/object-sessions.ts";

type Awaitable<T> = T | Promise<T>;

export interface LoadedSkills {
  /** As `label:key`, in the order in which they were loaded. */
  loaded(): Awaitable<readonly string[]>;
  /** A document has been given to the model. */
  load(label: string, key: string, content: string): Awaitable<void>;
  /** Takes it out of the history. False: it was not loaded. */
  unload(label: string, key: string): Awaitable<boolean>;
  /** A block that is gone: its documents count as loaded no more, and the history stays. */
  dropBlock(label: string): void;
}

export const skillId = (label: string, key: string): string => `${label}:${key}`;

export class StoredSkills implements LoadedSkills {
  readonly #sessions: ObjectSessions;
  readonly #sessionId: string;

  constructor(sessions: ObjectSessions, sessionId: string) {
    this.#sessions = sessions;
    this.#sessionId = sessionId;
  }

  loaded(): string[] {
    const tables = this.#sessions.find(this.#sessionId);
    return tables?.skills.loaded().map(({ label, key }) => skillId(label, key)) ?? [];
  }

  load(label: string, key: string, content: string): void {
    const { skills } = this.#sessions.create(this.#sessionId);
    skills.load({ label, key, version: null, sha256: null, tokens: estimateText(content), loaded_at: Date.now() });
  }

  unload(label: string, key: string): boolean {
    const tables = this.#sessions.find(this.#sessionId);
    return tables?.atomically(() => tables.skills.unload(label, key)) ?? false;
  }

  dropBlock(label: string): void {
    this.#sessions.find(this.#sessionId)?.skills.dropBlock(label);
  }
}

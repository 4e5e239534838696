/**
 * Which documents of skill blocks a session has loaded, where its storage keeps messages alone: found by one scan
 * of the history when it is first asked for. Unloading rewrites the outputs that brought a document in.
 */
import { type SkillCall, skillCallsOf, withoutOutputs } from "../../context/skill-calls.ts";
import { type SessionMessage, asStored, toSessionMessage } from "../session-message.ts";
import { type LoadedSkills, skillId } from "./loaded-skills.ts";

/** What is asked of the session's storage. */
type Messages = {
  readonly history: () => Promise<readonly SessionMessage[]>;
  /** Stores other content for a message and tells of it. */
  readonly rewrite: (message: SessionMessage) => Promise<void>;
};

const callsOf = (message: SessionMessage): SkillCall[] => skillCallsOf(asStored(JSON.stringify(message)));

async function scan(messages: Messages): Promise<Set<string>> {
  const found = new Set<string>();
  for (const { kind, label, key } of (await messages.history()).flatMap(callsOf)) {
    if (kind === "load") found.add(skillId(label, key));
    else found.delete(skillId(label, key));
  }
  return found;
}

export class ScannedSkills implements LoadedSkills {
  readonly #messages: Messages;
  #found: Promise<Set<string>> | undefined;

  constructor(messages: Messages) {
    this.#messages = messages;
  }

  async #known(): Promise<Set<string>> {
    this.#found ??= scan(this.#messages);
    try {
      return await this.#found;
    } catch (error) {
      this.#found = undefined;
      throw error;
    }
  }

  async loaded(): Promise<string[]> {
    return [...(await this.#known())];
  }

  async load(label: string, key: string): Promise<void> {
    (await this.#known()).add(skillId(label, key));
  }

  /** Every copy on the path: a document may have been loaded more than once. */
  async unload(label: string, key: string): Promise<boolean> {
    if (!(await this.#known()).delete(skillId(label, key))) return false;
    for (const message of await this.#messages.history()) {
      const calls = callsOf(message).filter((call) => call.kind === "load" && call.label === label && call.key === key);
      if (calls.length === 0) continue;
      const keys = new Map(calls.map(({ callId }) => [callId, key]));
      await this.#messages.rewrite(toSessionMessage(withoutOutputs(asStored(JSON.stringify(message)), keys)));
    }
    return true;
  }

  dropBlock(label: string): void {
    const forget = (found: Set<string>) => {
      for (const id of found) if (id.startsWith(skillId(label, ""))) found.delete(id);
    };
    // A scan that fails is made again, and then for the blocks that are there.
    void this.#found?.then(forget, () => undefined);
  }

  /** The session's messages are gone. */
  clear(): void {
    this.#found = Promise.resolve(new Set());
  }
}

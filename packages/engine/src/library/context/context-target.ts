/** What a model's tools do to a session: its blocks, its loaded documents, the originals behind its compactions. */
import type { ContextBlock } from "../../context/context-block.ts";
import type { Outcome, Recall, ToolTarget } from "../../context/run-tool.ts";
import type { Conversation } from "../conversation.ts";
import { SessionError } from "../session-error.ts";
import type { ContextBlocks } from "./context-blocks.ts";

/** What is refused is said to the model; what fails, fails. */
async function outcomeOf<T>(work: Promise<T>): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await work };
  } catch (error) {
    if (error instanceof SessionError) return { ok: false, because: error.message };
    throw error;
  }
}

export class ContextTarget implements ToolTarget {
  readonly #blocks: ContextBlocks;
  readonly #conversation: Conversation;

  constructor(blocks: ContextBlocks, conversation: Conversation) {
    this.#blocks = blocks;
    this.#conversation = conversation;
  }

  blocks(): ContextBlock[] {
    return this.#blocks.all();
  }

  write(label: string, content: string, action: "replace" | "append"): Promise<Outcome<ContextBlock>> {
    return outcomeOf(action === "append" ? this.#blocks.append(label, content) : this.#blocks.replace(label, content));
  }

  writeEntry(label: string, key: string, content: string, description: string | undefined): Promise<Outcome<null>> {
    return outcomeOf(this.#blocks.setEntry(label, key, content, description).then(() => null));
  }

  async load(label: string, key: string): Promise<Outcome<string | null>> {
    const document = await this.#blocks.loadEntry(label, key);
    if (document !== null) await this.#conversation.skills.load(label, key, document);
    return { ok: true, value: document };
  }

  async unload(label: string, key: string): Promise<boolean> {
    return this.#conversation.skills.unload(label, key);
  }

  async loaded(): Promise<readonly string[]> {
    return this.#conversation.skills.loaded();
  }

  search(label: string, query: string): Promise<string | null> {
    return this.#blocks.search(label, query);
  }

  /** A session alone knows no other. */
  searchSessions(): null {
    return null;
  }

  async recall(what: Recall): Promise<Outcome<string | null>> {
    return this.#conversation.recall?.(what) ?? { ok: true, value: null };
  }
}

/**
 * The system prompt of a session: rendered from its blocks when it is first asked for, and the same from then on,
 * so that a model's prompt cache holds. In memory, or kept where it outlives an eviction.
 */
import type { WritableContextProvider } from "../../context/providers.ts";
import { renderPrompt, renderReminder } from "../../context/render-prompt.ts";
import type { ContextBlocks } from "./context-blocks.ts";
import { StoredText } from "./stored-text.ts";

export class SystemPrompt {
  readonly #blocks: ContextBlocks;
  readonly #store: () => WritableContextProvider | null;
  /** Where there is no store. */
  #frozen: string | null = null;
  #turn: Promise<unknown> = Promise.resolve();

  /** `store`: where the prompt is kept; null: in memory. */
  constructor(blocks: ContextBlocks, store: () => WritableContextProvider | null) {
    this.#blocks = blocks;
    this.#store = store;
  }

  /** One after another: of two that come first the second one finds what the first has frozen. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Null: nothing is frozen. The empty prompt is a frozen one too. */
  async #kept(): Promise<string | null> {
    const store = this.#store();
    return store === null ? this.#frozen : store.get();
  }

  async #keep(prompt: string): Promise<string> {
    const store = this.#store();
    if (store === null) this.#frozen = prompt;
    else await store.set(prompt);
    return prompt;
  }

  /** Another handle may have frozen one meanwhile: in the object's own database that one stands. */
  async #keepFirst(prompt: string): Promise<string> {
    const store = this.#store();
    return store instanceof StoredText ? store.keepFirst(prompt) : this.#keep(prompt);
  }

  freeze(): Promise<string> {
    return this.#inTurn(async () => {
      const kept = await this.#kept();
      if (kept !== null) return kept;
      await this.#blocks.load();
      return this.#keepFirst(renderPrompt(this.#blocks.all()));
    });
  }

  /** Every provider is read anew. What was frozen stays when one of them fails. */
  refresh(): Promise<string> {
    return this.#inTurn(async () => {
      await this.#blocks.reload();
      return this.#keep(renderPrompt(this.#blocks.all()));
    });
  }

  /** The same when something is frozen; otherwise there is nothing to renew. */
  async refreshFrozen(): Promise<void> {
    if ((await this.#kept()) !== null) await this.refresh();
  }

  /** What `freeze` would give, and nothing is frozen by it. */
  async preview(): Promise<string> {
    const kept = await this.#kept();
    if (kept !== null) return kept;
    await this.#blocks.load();
    return renderPrompt(this.#blocks.all());
  }

  /** Null: nothing is frozen, or what is told of has not changed since. */
  async reminder(): Promise<string | null> {
    const kept = await this.#kept();
    if (kept === null) return null;
    await this.#blocks.reload(({ whenChanged }) => whenChanged === "remind");
    return renderReminder(kept, this.#blocks.reminding());
  }
}

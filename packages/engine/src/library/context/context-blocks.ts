/**
 * The context blocks of a session: what was declared of them, their text as it was last read or written, and the
 * writes that go through to their providers at once. Knows nothing of prompts and tools.
 *
 * A text in the object's own database is read whenever it is asked for; any other is the one that `load` read.
 */
import { type ContextBlock, appended, excess, isKeyed } from "../../context/context-block.ts";
import {
  type AnyContextProvider,
  abilitiesOf,
  isSearchProvider,
  isSkillProvider,
  isWritableProvider,
} from "../../context/providers.ts";
import { estimateText } from "../../tokens/estimate.ts";
import { SessionError } from "../session-error.ts";
import { StoredText } from "./stored-text.ts";

export type ContextOptions = {
  /** Told to the model, after the label and in its tools. */
  readonly description?: string | undefined;
  /** What is written has at most so many, by the engine's estimate. */
  readonly maxTokens?: number | undefined;
  /** Left out: a writable text of the session's own; where its storage keeps messages alone, nothing. */
  readonly provider?: AnyContextProvider | undefined;
  /** `remind`: `reminder()` tells what has changed in it since the prompt was frozen. `wait` when it is left out. */
  readonly whenChanged?: "wait" | "remind" | undefined;
};
export type ContextDeclaration = ContextOptions & { readonly label: string };

/** `content`: null before the first load. */
type Block = {
  declared: ContextDeclaration;
  loading: Promise<void> | undefined;
  isInitialized: boolean;
  content: string | null;
  /** The end of the last read or write: they go one after another. */
  lastTurn: Promise<unknown>;
};

const NOTHING: AnyContextProvider = { get: () => null };

function check({ label, maxTokens }: ContextDeclaration): void {
  if (label === "" || !label.isWellFormed())
    throw new SessionError("invalid_argument", "a block's label is a text that is not empty");
  if (maxTokens !== undefined && !(maxTokens > 0))
    throw new SessionError("invalid_argument", `${label}: maxTokens is a number above 0`);
}

export class ContextBlocks {
  readonly #blocks = new Map<string, Block>();
  /** Where a block without a provider keeps its text; null: nowhere. */
  readonly #ownText: (label: string) => StoredText | null;

  constructor(ownText: (label: string) => StoredText | null) {
    this.#ownText = ownText;
  }

  /**
   * The last declaration of a label holds, in the place of the first; the same provider is not read again for it.
   * Throws `invalid_argument`.
   */
  declare(declared: ContextDeclaration): void {
    check(declared);
    const before = this.#blocks.get(declared.label);
    if (before !== undefined && before.declared.provider === declared.provider) {
      before.declared = declared;
      return;
    }
    const lastTurn = before?.lastTurn ?? Promise.resolve();
    this.#blocks.set(declared.label, { declared, loading: undefined, isInitialized: false, content: null, lastTurn });
  }

  has(label: string): boolean {
    return this.#blocks.has(label);
  }

  /** False: there was none. What its provider keeps stays. */
  remove(label: string): boolean {
    return this.#blocks.delete(label);
  }

  #must(label: string): Block {
    const block = this.#blocks.get(label);
    if (block === undefined) throw new SessionError("unknown_block", `block "${label}" not found`);
    return block;
  }

  #providerOf({ declared: { label, provider } }: Block): AnyContextProvider {
    return provider ?? this.#ownText(label) ?? NOTHING;
  }

  // Reading

  #shown(block: Block): ContextBlock {
    const { label, description, maxTokens } = block.declared;
    const provider = this.#providerOf(block);
    const content = (provider instanceof StoredText ? provider.read() : block.content) ?? "";
    return {
      label,
      ...(description === undefined ? {} : { description }),
      content,
      tokens: estimateText(content),
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...abilitiesOf(provider),
    };
  }

  find(label: string): ContextBlock | null {
    const block = this.#blocks.get(label);
    return block === undefined ? null : this.#shown(block);
  }

  /** In the order in which they were declared. */
  all(): ContextBlock[] {
    return [...this.#blocks.values()].map((block) => this.#shown(block));
  }

  /** Work on a block, after what was begun before it, whatever became of that. */
  async #inTurn<T>(block: Block, work: () => Promise<T>): Promise<T> {
    const turn = block.lastTurn.then(work);
    block.lastTurn = turn.catch(() => undefined);
    return turn;
  }

  /** The provider's `init` once in the block's life, before anything else. */
  async #read(block: Block): Promise<void> {
    const provider = this.#providerOf(block);
    if (!block.isInitialized) await provider.init?.(block.declared.label);
    block.isInitialized = true;
    block.content = await provider.get();
  }

  async #load(block: Block): Promise<void> {
    block.loading ??= this.#inTurn(block, () => this.#read(block));
    try {
      await block.loading;
    } catch (error) {
      block.loading = undefined;
      throw error;
    }
  }

  /** Reads the blocks that were not read yet. Rejects with what a provider throws. */
  async load(): Promise<void> {
    await Promise.all([...this.#blocks.values()].map((block) => this.#load(block)));
  }

  /** The same for one block. */
  async loadOne(label: string): Promise<ContextBlock> {
    const block = this.#must(label);
    await this.#load(block);
    return this.#shown(block);
  }

  /** Reads every block anew, or those of which it is true. */
  async reload(which: (declared: ContextDeclaration) => boolean = () => true): Promise<void> {
    const blocks = [...this.#blocks.values()].filter(({ declared }) => which(declared));
    for (const block of blocks) block.loading = undefined;
    await Promise.all(blocks.map((block) => this.#load(block)));
  }

  /** The blocks that are told of when they have changed. */
  reminding(): ContextBlock[] {
    return [...this.#blocks.values()]
      .filter(({ declared }) => declared.whenChanged === "remind")
      .map((block) => this.#shown(block));
  }

  // Writing

  /** Rejects with `unknown_block`, `readonly_block`, `keyed_block`, `over_limit`. */
  async #write(label: string, text: string, action: "replace" | "append"): Promise<ContextBlock> {
    const block = this.#must(label);
    await this.#load(block);
    const provider = this.#providerOf(block);
    if (isKeyed(abilitiesOf(provider)))
      throw new SessionError("keyed_block", `block "${label}" has a keyed provider: write an entry by its key`);
    if (!isWritableProvider(provider)) throw new SessionError("readonly_block", `block "${label}" is readonly`);
    return this.#inTurn(block, async () => {
      let content = text.toWellFormed();
      if (action === "append") {
        // What is there now: someone else may have written. Nothing is awaited between it and the write in the object.
        const before = provider instanceof StoredText ? provider.read() : await provider.get();
        content = appended(before ?? "", content);
      }
      const over = excess(content, block.declared.maxTokens);
      if (over !== null) throw new SessionError("over_limit", `block "${label}" exceeds maxTokens: ${over.tokens} > ${over.max}`);
      await provider.set(content);
      block.content = content;
      return this.#shown(block);
    });
  }

  /** Another text in place of the block's. */
  replace(label: string, content: string): Promise<ContextBlock> {
    return this.#write(label, content, "replace");
  }

  /** On a line of its own, unless it is the first or begins with one. */
  append(label: string, addition: string): Promise<ContextBlock> {
    return this.#write(label, addition, "append");
  }

  // Keyed entries

  async #keyed(label: string): Promise<{ readonly block: Block; readonly provider: AnyContextProvider }> {
    const block = this.#must(label);
    await this.#load(block);
    return { block, provider: this.#providerOf(block) };
  }

  /** What the block says of its entries is read anew. Rejects with `unknown_block`, `readonly_block`. */
  async setEntry(label: string, key: string, content: string, description: string | undefined): Promise<void> {
    const { block, provider } = await this.#keyed(label);
    if (!(isSkillProvider(provider) || isSearchProvider(provider)) || provider.set === undefined)
      throw new SessionError("readonly_block", `block "${label}" takes no entries`);
    const text = content.toWellFormed();
    await this.#inTurn(block, async () => {
      await (isSkillProvider(provider) ? provider.set?.(key, text, description?.toWellFormed()) : provider.set?.(key, text));
      // What is written is written: a listing that can't be read now is read when it is next asked for.
      await this.#read(block).catch(() => {
        block.loading = undefined;
      });
    });
  }

  /** Null: there is no document with this key. */
  async loadEntry(label: string, key: string): Promise<string | null> {
    const { provider } = await this.#keyed(label);
    return isSkillProvider(provider) ? ((await provider.load(key)) ?? null) : null;
  }

  /** Null: nothing was found. */
  async search(label: string, query: string): Promise<string | null> {
    const { provider } = await this.#keyed(label);
    return isSearchProvider(provider) ? ((await provider.search(query)) ?? null) : null;
  }
}

/** All of a session beside its messages: its context blocks, the system prompt made of them, and the model's tools. */
import type { ContextBlock } from "../../context/context-block.ts";
import type { WritableContextProvider } from "../../context/providers.ts";
import { runTool } from "../../context/run-tool.ts";
import { toolDefinitions } from "../../context/tools.ts";
import { estimateText } from "../../tokens/estimate.ts";
import type { Surroundings } from "../compaction/compactor.ts";
import type { Conversation } from "../conversation.ts";
import { logError } from "../log.ts";
import { SessionError } from "../session-error.ts";
import type { SessionOptions } from "../session-options.ts";
import { ContextBlocks, type ContextOptions } from "./context-blocks.ts";
import { ContextTarget } from "./context-target.ts";
import { type SessionTools, sessionTools } from "./session-tools.ts";
import { SystemPrompt } from "./system-prompt.ts";

export class SessionContext implements Surroundings {
  readonly blocks: ContextBlocks;
  readonly prompt: SystemPrompt;
  readonly #conversation: () => Conversation;
  readonly #keepsTexts: boolean;
  #promptStore: (() => WritableContextProvider | null) | undefined;

  /**
   * `conversation`: asked for when something is read or written, never before. `keepsTexts`: whether it keeps more
   * than messages.
   */
  constructor(conversation: () => Conversation, keepsTexts: boolean, { context = [], promptStore }: SessionOptions) {
    this.#conversation = conversation;
    this.#keepsTexts = keepsTexts;
    this.blocks = new ContextBlocks((label) => conversation().text?.("block", label) ?? null);
    this.prompt = new SystemPrompt(this.blocks, () => this.#promptStore?.() ?? null);
    for (const declaration of context) this.blocks.declare(declaration);
    if (promptStore !== undefined) this.keepPrompt(promptStore);
  }

  /** Throws `provider_required`. */
  keepPrompt(provider: WritableContextProvider | undefined): void {
    if (provider === undefined && !this.#keepsTexts)
      throw new SessionError("provider_required", "the session's storage keeps no prompt: name a provider for it");
    this.#promptStore = provider === undefined ? () => this.#conversation().text?.("prompt", "") ?? null : () => provider;
  }

  /** Rejects with `duplicate_block`, `provider_required`, and what the provider throws: then there is no block. */
  async add(label: string, options: ContextOptions): Promise<ContextBlock> {
    if (this.blocks.has(label)) throw new SessionError("duplicate_block", `the session has a block "${label}" already`);
    if (options.provider === undefined && !this.#keepsTexts)
      throw new SessionError("provider_required", "the session's storage keeps no blocks: name a provider for it");
    this.blocks.declare({ ...options, label });
    try {
      return await this.blocks.loadOne(label);
    } catch (error) {
      this.blocks.remove(label);
      throw error;
    }
  }

  remove(label: string): boolean {
    const isGone = this.blocks.remove(label);
    if (isGone) this.#conversation().skills.dropBlock(label);
    return isGone;
  }

  async tools(): Promise<SessionTools> {
    await this.blocks.load();
    const conversation = this.#conversation();
    const recall = conversation.recall !== undefined && (await conversation.getCompactions()).length > 0;
    const definitions = toolDefinitions(this.blocks.all(), { sessionSearch: false, recall });
    const target = new ContextTarget(this.blocks, conversation);
    return sessionTools(definitions, (name, args) => runTool(target, name, args));
  }

  // For compaction

  async promptTokens(): Promise<number> {
    return estimateText(await this.prompt.preview());
  }

  async look(): Promise<{ systemPrompt: string; contextBlocks: readonly ContextBlock[] }> {
    await this.blocks.load();
    return { systemPrompt: await this.prompt.preview(), contextBlocks: this.blocks.all() };
  }

  /** Messages were cleared or summarised: the prompt that they were said under goes too. It stays when that fails. */
  async historyChanged(): Promise<void> {
    try {
      await this.prompt.refreshFrozen();
    } catch (error) {
      logError("system_prompt_refresh_failed", error);
    }
  }
}

/** The object's methods that are about its context: blocks, entries, the prompt, tools. */
import type { ContextRpc } from "@sessionplane/shared/rpc/context-rpc";
import { SessionContext } from "../context/session-context.ts";
import { type Input, SessionObject } from "./session-object.ts";

export abstract class ContextMethods extends SessionObject implements ContextRpc {
  readonly #context = new SessionContext(this.turns, this.env.CONTENT);

  async listBlocks() {
    return this.#context.listBlocks();
  }

  async getBlock(query: Input<"getBlock">) {
    return this.#context.getBlock(query);
  }

  async putBlock(input: Input<"putBlock">) {
    return this.#context.putBlock(input);
  }

  async patchBlock(input: Input<"patchBlock">) {
    return this.#context.patchBlock(input);
  }

  async appendToBlock(input: Input<"appendToBlock">) {
    return this.#context.appendToBlock(input);
  }

  async deleteBlock(input: Input<"deleteBlock">) {
    return this.#context.deleteBlock(input);
  }

  async listEntries(query: Input<"listEntries">) {
    return this.#context.listEntries(query);
  }

  async getEntry(query: Input<"getEntry">) {
    return this.#context.getEntry(query);
  }

  async putEntry(input: Input<"putEntry">) {
    return this.#context.putEntry(input);
  }

  async deleteEntry(input: Input<"deleteEntry">) {
    return this.#context.deleteEntry(input);
  }

  async readPrompt() {
    return this.#context.readPrompt();
  }

  async refreshPrompt() {
    return this.#context.refreshPrompt();
  }

  async listTools() {
    return this.#context.listTools();
  }

  async runTool(input: Input<"runTool">) {
    return this.#context.runTool(input);
  }

  async listLoadedSkills() {
    return this.#context.listLoadedSkills();
  }
}

/** What a session's object offers of its context: blocks, their entries, the prompt, tools. Part of `SessionRpc`. */
import type { Block, Entry, LoadedSkillReply, PatchBlock, Prompt, PutBlock, PutEntry, Tool, ToolReply } from "../block.ts";
import type { Problem } from "../problem.ts";
import type { Result } from "../result.ts";
import type { Idempotency, IfMatch, Written } from "./session-rpc.ts";

/** Which revision is expected to be there, and the key by which a repetition is known. */
type ContextWrite = { readonly if_match?: IfMatch; readonly idempotency: Idempotency };
type OfBlock = { readonly label: string };
type OfEntry = OfBlock & { readonly key: string };

/** `made`: it was not there before. */
export type Put<T> = { readonly value: T; readonly made: boolean };
export type EntryPage = { readonly items: readonly Entry[]; readonly has_more: boolean };

export interface ContextRpc {
  /** In the order in which they were made, which is that of the prompt. */
  listBlocks(): Promise<Result<readonly Block[], Problem>>;
  getBlock(query: OfBlock): Promise<Result<Block, Problem>>;
  /** Defines a block. A text that is not given stays as it is. */
  putBlock(input: OfBlock & ContextWrite & { readonly block: PutBlock }): Promise<Result<Written<Put<Block>>, Problem>>;
  patchBlock(input: OfBlock & ContextWrite & { readonly patch: PatchBlock }): Promise<Result<Written<Block>, Problem>>;
  /** Below what is there, on a line of its own. */
  appendToBlock(input: OfBlock & ContextWrite & { readonly content: string }): Promise<Result<Written<Block>, Problem>>;
  /** With its entries. The prompt stays until it is refreshed. */
  deleteBlock(input: OfBlock & ContextWrite): Promise<Result<null, Problem>>;

  /** By key. */
  listEntries(query: OfBlock & { readonly limit: number; readonly after?: string }): Promise<Result<EntryPage, Problem>>;
  getEntry(query: OfEntry): Promise<Result<Entry, Problem>>;
  putEntry(input: OfEntry & ContextWrite & { readonly entry: PutEntry }): Promise<Result<Written<Put<Entry>>, Problem>>;
  deleteEntry(input: OfEntry & ContextWrite): Promise<Result<null, Problem>>;

  /** As it was when it was first asked for, or refreshed. */
  readPrompt(): Promise<Result<Prompt, Problem>>;
  refreshPrompt(): Promise<Result<Prompt, Problem>>;

  listTools(): Promise<Result<readonly Tool[], Problem>>;
  /** What a model asks for and can't have is an answer too. */
  runTool(input: {
    readonly name: string;
    readonly arguments: unknown;
    readonly idempotency: Idempotency;
  }): Promise<Result<Written<ToolReply>, Problem>>;
  listLoadedSkills(): Promise<Result<readonly LoadedSkillReply[], Problem>>;
}

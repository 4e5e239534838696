/**
 * The context of a session that is being made of lines. It goes to its own tables at once: nobody reads them
 * before the session is there.
 */
import { MAX_BLOCKS, MAX_CONTEXT_BYTES, MAX_ENTRIES_PER_BLOCK, MAX_PROMPT_BYTES } from "@sessionplane/shared/block";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import type { BlockLine, ContextLine, EntryLine, PromptLine, SkillLine } from "@sessionplane/shared/transfer";
import { CONTEXT_FULL, overLimit } from "@sessionplane/engine/context/new-blocks";
import { utf8Bytes } from "@sessionplane/engine/messages/split-text";
import { EntryStore } from "@sessionplane/engine/storage/sqlite/entry-store";
import { SkillState } from "@sessionplane/engine/storage/sqlite/skill-state";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import { BlockStore } from "../context/block-store.ts";
import { PromptStore } from "../context/prompt-store.ts";
import { hasEntries } from "../context/show-block.ts";
import { draftOf } from "../context/write-block.ts";
import { tooManyEntries } from "../context/write-entry.ts";

const momentsOf = ({ created_at, updated_at }: Pick<BlockLine, "created_at" | "updated_at">) => ({
  created_at: Date.parse(created_at),
  updated_at: Date.parse(updated_at),
});

export class StagedContext {
  readonly #blocks: BlockStore;
  readonly #entries: EntryStore;
  readonly #prompt: PromptStore;
  readonly #skills: SkillState;

  constructor(sql: SqlStorage) {
    this.#blocks = new BlockStore(sql);
    this.#entries = new EntryStore(sql);
    this.#prompt = new PromptStore(sql);
    this.#skills = new SkillState(sql);
  }

  clear(): void {
    for (const label of this.#entries.labels()) this.#entries.deleteAll(label);
    this.#blocks.clear();
    this.#prompt.clear();
    this.#skills.clear();
  }

  add(line: number, entry: ContextLine): Problem | null {
    if (entry.kind === "block") return this.#addBlock(line, entry);
    if (entry.kind === "entry") return this.#addEntry(entry);
    if (entry.kind === "prompt") return this.#freeze(entry);
    return this.#addSkill(entry);
  }

  #addSkill({ kind: _kind, loaded_at: at, ...skill }: SkillLine): Problem | null {
    if (this.#skills.find(skill.label, skill.key) !== null) return fieldProblem("invalid", "/key", "is on an earlier line too");
    this.#skills.load({ ...skill, loaded_at: Date.parse(at) });
    return null;
  }

  #freeze({ prompt, frozen_at: at }: PromptLine): Problem | null {
    if (utf8Bytes(prompt) > MAX_PROMPT_BYTES) return fieldProblem("context_full", "/prompt", "is longer than a prompt may be");
    if (this.#prompt.frozen() !== null) return fieldProblem("invalid", "/kind", "a prompt is on an earlier line too");
    this.#prompt.freeze({ prompt, tokens: estimateText(prompt), frozen_at: Date.parse(at) });
    return null;
  }

  #addBlock(line: number, { position = line, block: { label, ...block }, ...rest }: BlockLine): Problem | null {
    if (this.#blocks.find(label) !== null) return fieldProblem("invalid", "/block/label", "is on an earlier line too");
    if (this.#blocks.all().length >= MAX_BLOCKS) return problem("context_full", `A session has at most ${MAX_BLOCKS} blocks.`);
    const draft = draftOf(label, block, null);
    if (this.#blocks.bytesBeside(label) + utf8Bytes(draft.content) > MAX_CONTEXT_BYTES) return CONTEXT_FULL;
    const refused = overLimit(label, "/block/content", draft.content, draft.max_tokens);
    if (refused !== null) return refused;
    this.#blocks.restore(draft, { position, ...momentsOf(rest) });
    return null;
  }

  #addEntry({ entry: { label, key, ...text }, ...rest }: EntryLine): Problem | null {
    if (this.#entries.find(label, key) !== null) return fieldProblem("invalid", "/entry/key", "is on an earlier line too");
    this.#entries.restore(label, key, text, momentsOf(rest));
    return null;
  }

  /** When all lines are there: entries belong to blocks that take them, and are not too many. */
  check(): Problem | null {
    const full = this.#entries.labels().find((label) => this.#entries.count(label) > MAX_ENTRIES_PER_BLOCK);
    if (full !== undefined) return tooManyEntries(full);
    const takes = new Set(this.#blocks.all().flatMap((row) => (hasEntries(row) ? [row.label] : [])));
    const stray = this.#entries.labels().find((label) => !takes.has(label));
    return stray === undefined
      ? null
      : fieldProblem("import_refused", "/entry/label", `no line is of a block "${stray}" with entries`);
  }
}

/**
 * A session's blocks, prompt and tools: one method a verb. What is in R2 is read first; what is written is one
 * turn. A bucket that can't be reached is no fault of the caller's.
 */
import type { Block, Entry, LoadedSkillReply, Prompt, Tool, ToolReply } from "@sessionplane/shared/block";
import { formatInstant } from "@sessionplane/shared/fields";
import { NOT_FOUND, type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { ContextRpc, Put } from "@sessionplane/shared/rpc/context-rpc";
import type { Idempotency, Written } from "@sessionplane/shared/rpc/session-rpc";
import { runTool } from "@sessionplane/engine/context/run-tool";
import { SkillBucket } from "@sessionplane/engine/context/skill-bucket";
import { isToolName } from "@sessionplane/engine/context/tools";
import type { StoredEntry } from "@sessionplane/engine/storage/sqlite/entry-store";
import { logError } from "../log.ts";
import type { SessionStore } from "../session-store.ts";
import type { Turns } from "../turns.ts";
import type { BlockRow } from "./block-store.ts";
import { isFrozen, listTools, readPrompt, refreshPrompt, remindsOfSkills } from "./prompt.ts";
import { SessionTools } from "./session-tools.ts";
import { type Listings, toBlock, toEntry } from "./show-block.ts";
import { SkillShelf, SkillsUnreachable, listsTenantSkills } from "./skill-shelf.ts";
import { deleteBlock, patchBlock, putBlock, writeText } from "./write-block.ts";
import { deleteEntry, findEntry, listEntries, putEntry } from "./write-entry.ts";

type Input<M extends keyof ContextRpc> = Parameters<ContextRpc[M]>[0];

const UNREACHABLE = problem("unavailable", "The skills could not be read.");
const NO_LISTINGS: Listings = new Map();
/** For a session whose blocks change all the time. */
const MAX_LISTINGS = 5;

/** What of blocks decides on their lists. */
const selectionsOf = (blocks: readonly BlockRow[]): string =>
  JSON.stringify(blocks.filter(listsTenantSkills).map(({ label, settings: { prefix, keys } }) => [label, prefix, keys]));

export class SessionContext implements ContextRpc {
  readonly #turns: Turns;
  readonly #bucket: R2Bucket;

  constructor(turns: Turns, bucket: R2Bucket) {
    this.#turns = turns;
    this.#bucket = bucket;
  }

  #shelf(store: SessionStore): SkillShelf {
    return new SkillShelf(new SkillBucket(this.#bucket, store.row.tenant_id));
  }

  /**
   * What the blocks list of the tenant's skills. R2 is read anew when blocks were made or changed meanwhile: a
   * prompt that is frozen without their lists would stay so.
   */
  async #listings(store: SessionStore): Promise<Listings> {
    const shelf = this.#shelf(store);
    for (let attempt = 1; ; attempt++) {
      const blocks = store.blocks.all();
      const listings = await shelf.listings(blocks);
      if (attempt === MAX_LISTINGS || selectionsOf(store.blocks.all()) === selectionsOf(blocks)) return listings;
    }
  }

  /** Work that reads R2. */
  async #reaching<T>(work: (store: SessionStore) => Promise<Result<T, Problem>>): Promise<Result<T, Problem>> {
    const { store } = this.#turns;
    if (store === null) return err(this.#turns.missing());
    try {
      return await work(store);
    } catch (error) {
      if (!(error instanceof SkillsUnreachable)) throw error;
      logError("skills_unreachable", error, { session_id: store.row.session_id });
      return err(UNREACHABLE);
    }
  }

  /** One write of the context, once a key. `keep` and `replay`: what of its value is kept. */
  #write<T>(
    idempotency: Idempotency,
    effect: (store: SessionStore, now: number) => Result<T, Problem>,
    keep: (value: T) => string,
    replay: (store: SessionStore, kept: string) => T,
  ): Result<Written<T>, Problem> {
    return this.#turns.write((store, now) => {
      const kept = () => {
        const value = effect(store, now);
        return value.ok ? ok({ reply: value.value, receipt: keep(value.value) }) : value;
      };
      return store.atomically(() => store.keys.once(idempotency, now, kept, (receipt) => replay(store, receipt)));
    });
  }

  /** The same for a write of a block. Null: it was deleted since. */
  #writeBlock(
    label: string,
    idempotency: Idempotency,
    effect: (store: SessionStore, now: number) => Result<BlockRow, Problem>,
  ): Promise<Result<Written<Block>, Problem>> {
    const written = this.#write<BlockRow | null>(
      idempotency,
      effect,
      () => "{}",
      (store) => store.blocks.find(label),
    );
    return this.#show(written);
  }

  async #show(written: Result<Written<BlockRow | null>, Problem>): Promise<Result<Written<Block>, Problem>> {
    if (!written.ok) return written;
    const { value: row, replayed } = written.value;
    if (row === null) return err(NOT_FOUND);
    const shown = await this.#reaching(async (store) => {
      const listings = await this.#shelf(store).listings([row]);
      return ok({ value: toBlock(row, store.entries, listings), replayed });
    });
    // It is written: what its list could not be read for is shown without it.
    return shown.ok ? shown : this.#turns.read((store) => ok({ value: toBlock(row, store.entries, NO_LISTINGS), replayed }));
  }

  listBlocks(): Promise<Result<readonly Block[], Problem>> {
    return this.#reaching(async (store) => {
      const listings = await this.#listings(store);
      return ok(store.blocks.all().map((row) => toBlock(row, store.entries, listings)));
    });
  }

  getBlock({ label }: Input<"getBlock">): Promise<Result<Block, Problem>> {
    return this.#reaching(async (store) => {
      const row = store.blocks.find(label);
      return row === null ? err(NOT_FOUND) : ok(toBlock(row, store.entries, await this.#shelf(store).listings([row])));
    });
  }

  async putBlock(input: Input<"putBlock">): Promise<Result<Written<Put<Block>>, Problem>> {
    const written = this.#write<{ row: BlockRow | null; made: boolean }>(
      input.idempotency,
      (store, now) => putBlock(store, input, now),
      (value) => JSON.stringify(value.made),
      (store, kept) => ({ row: store.blocks.find(input.label), made: kept === "true" }),
    );
    if (!written.ok) return written;
    const { value, replayed } = written.value;
    const shown = await this.#show(ok({ value: value.row, replayed }));
    return shown.ok ? ok({ value: { value: shown.value.value, made: value.made }, replayed }) : shown;
  }

  patchBlock(input: Input<"patchBlock">): Promise<Result<Written<Block>, Problem>> {
    return this.#writeBlock(input.label, input.idempotency, (store, now) => patchBlock(store, input, now));
  }

  appendToBlock(input: Input<"appendToBlock">): Promise<Result<Written<Block>, Problem>> {
    const text = { ...input, action: "append" } as const;
    return this.#writeBlock(input.label, input.idempotency, (store, now) => writeText(store, text, now));
  }

  async deleteBlock(input: Input<"deleteBlock">): Promise<Result<null, Problem>> {
    const done = this.#write(
      input.idempotency,
      (store) => deleteBlock(store, input),
      () => "{}",
      () => null,
    );
    return done.ok ? ok(null) : done;
  }

  async listEntries(query: Input<"listEntries">) {
    return this.#turns.read((store) => listEntries(store, query));
  }

  async getEntry(query: Input<"getEntry">) {
    return this.#turns.read((store) => {
      const entry = findEntry(store, query);
      return entry.ok ? ok(toEntry(entry.value)) : entry;
    });
  }

  async putEntry(input: Input<"putEntry">): Promise<Result<Written<Put<Entry>>, Problem>> {
    const { label, key } = input;
    const written = this.#write<{ entry: StoredEntry | null; made: boolean }>(
      input.idempotency,
      (store, now) => putEntry(store, input, now),
      ({ made }) => JSON.stringify(made),
      (store, kept) => ({ entry: store.entries.find(label, key), made: kept === "true" }),
    );
    if (!written.ok) return written;
    const { entry, made } = written.value.value;
    if (entry === null) return err(NOT_FOUND);
    return ok({ value: { value: toEntry(entry), made }, replayed: written.value.replayed });
  }

  async deleteEntry(input: Input<"deleteEntry">): Promise<Result<null, Problem>> {
    const done = this.#write(
      input.idempotency,
      (store) => deleteEntry(store, input),
      () => "{}",
      () => null,
    );
    return done.ok ? ok(null) : done;
  }

  readPrompt(): Promise<Result<Prompt, Problem>> {
    return this.#reaching(async (store) => {
      const needsSkills = !isFrozen(store) || remindsOfSkills(store);
      const listings = needsSkills ? await this.#listings(store) : NO_LISTINGS;
      return this.#turns.write((open, now) => ok(readPrompt(open, listings, now)));
    });
  }

  refreshPrompt(): Promise<Result<Prompt, Problem>> {
    return this.#reaching(async (store) => {
      const listings = await this.#listings(store);
      return this.#turns.write((open, now) => ok(refreshPrompt(open, listings, now)));
    });
  }

  async listTools(): Promise<Result<readonly Tool[], Problem>> {
    return this.#turns.read((store) => ok(listTools(store)));
  }

  runTool(input: Input<"runTool">): Promise<Result<Written<ToolReply>, Problem>> {
    const { name } = input;
    if (!isToolName(name)) return Promise.resolve(err(NOT_FOUND));
    return this.#reaching(async (store) => {
      const tools = new SessionTools(this.#turns, store, this.#shelf(store), input.idempotency);
      const { output, isError } = await runTool(tools, name, input.arguments);
      if (!isError) tools.keep();
      if (tools.problem !== null) return err(tools.problem);
      return ok({ value: { output, is_error: isError }, replayed: tools.replayed });
    });
  }

  async listLoadedSkills(): Promise<Result<readonly LoadedSkillReply[], Problem>> {
    return this.#turns.read((store) =>
      ok(
        store.skills.loaded().map(({ label, key, version, tokens, loaded_at: at }) => ({
          ...{ label, key, version, tokens },
          loaded_at: formatInstant(at),
        })),
      ),
    );
  }
}

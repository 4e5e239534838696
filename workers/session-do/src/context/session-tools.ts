/**
 * What a model's tools do to a session: the engine's port over the object's stores. One instance a call. Each
 * write is one turn, once an idempotency key.
 */
import type * as z from "zod";
import { MAX_BLOCK_DESCRIPTION_LENGTH, putEntrySchema } from "@sessionplane/shared/block";
import { NOT_FOUND, type Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { Idempotency, Written } from "@sessionplane/shared/rpc/session-rpc";
import { readOriginals } from "@sessionplane/engine/context/read-originals";
import { resultsText } from "@sessionplane/engine/context/results-text";
import type { Outcome, Recall, ToolTarget, Usage } from "@sessionplane/engine/context/run-tool";
import type { ToolBlock } from "@sessionplane/engine/context/tools";
import { ANY_TIME } from "@sessionplane/engine/storage/sqlite/search-index";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import { checkOpen } from "../messages/write-checks.ts";
import { buildIndex, searchMessages } from "../messages/search.ts";
import type { SessionStore } from "../session-store.ts";
import type { Turns } from "../turns.ts";
import type { BlockRow } from "./block-store.ts";
import type { SkillShelf } from "./skill-shelf.ts";
import { toToolBlock } from "./show-block.ts";
import { writeText } from "./write-block.ts";
import { putEntry } from "./write-entry.ts";

const MAX_RESULTS = 10;

/** What a model says of an entry, as a line: it may have written several, or an essay. */
const lineOf = (text: string): string =>
  text
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .slice(0, MAX_BLOCK_DESCRIPTION_LENGTH)
    .replace(/[\uD800-\uDBFF]$/, "");

const issueText = ({ path, message }: z.core.$ZodIssue): string => `${path.join(".")}: ${message}`;

/** Refusals that a model can do something about, in words; the others are the caller's. */
const FOR_THE_MODEL: readonly Problem["code"][] = [
  "block_over_limit",
  "context_full",
  "session_full",
  "wrong_block_kind",
  "not_found",
];

export class SessionTools implements ToolTarget {
  readonly #turns: Turns;
  readonly #store: SessionStore;
  readonly #shelf: SkillShelf;
  readonly #idempotency: Idempotency;
  /** What the caller has to be told, whatever the model is. */
  problem: Problem | null = null;
  #isKept = false;
  replayed = false;

  constructor(turns: Turns, store: SessionStore, shelf: SkillShelf, idempotency: Idempotency) {
    this.#turns = turns;
    this.#store = store;
    this.#shelf = shelf;
    this.#idempotency = idempotency;
  }

  /** An effect in one turn, once a key. Its value is kept with the key: of a repetition it is what it was then. */
  #once<T>(effect: (store: SessionStore, now: number) => Result<T, Problem>, parse: (kept: string) => T): Outcome<T> {
    const done = this.#turns.write((store, now): Result<Written<T>, Problem> => {
      const keep = () => {
        const value = effect(store, now);
        return value.ok ? ok({ reply: value.value, receipt: JSON.stringify(value.value) }) : value;
      };
      return store.atomically(() => store.keys.once(this.#idempotency, now, keep, parse));
    });
    if (!done.ok) {
      if (!FOR_THE_MODEL.includes(done.error.code)) this.problem = done.error;
      return { ok: false, because: done.error.detail };
    }
    this.#isKept = true;
    this.replayed = done.value.replayed;
    return { ok: true, value: done.value.value };
  }

  /** A tool that wrote nothing has its key kept too, so that another call with it is refused. */
  keep(): void {
    if (!this.#isKept && this.problem === null)
      this.#once(
        () => ok(null),
        () => null,
      );
  }

  blocks(): readonly ToolBlock[] {
    return this.#store.blocks.all().map(toToolBlock);
  }

  write(label: string, content: string, action: "replace" | "append"): Outcome<Usage> {
    return this.#once(
      (store, now) => {
        const row = writeText(store, { label, content, action }, now);
        if (!row.ok) return row;
        const { tokens, max_tokens: max } = row.value;
        return ok({ tokens, maxTokens: max ?? undefined });
      },
      (kept) => JSON.parse(kept) as Usage,
    );
  }

  writeEntry(label: string, key: string, content: string, description: string | undefined): Outcome<null> {
    const entry = putEntrySchema.safeParse({ content, description: description === undefined ? undefined : lineOf(description) });
    if (!entry.success) return { ok: false, because: entry.error.issues.map(issueText).join("; ") };
    return this.#once(
      (store, now) => {
        const written = putEntry(store, { label, key, entry: entry.data }, now);
        return written.ok ? ok(null) : written;
      },
      () => null,
    );
  }

  async load(label: string, key: string): Promise<Outcome<string | null>> {
    const row = this.#store.blocks.find(label);
    const document = row === null ? null : await this.#find(row, key);
    if (document === null) return { ok: true, value: null };
    const recorded = this.#once(
      (store, now) => {
        const closed = checkOpen(store);
        if (closed !== null) return err(closed);
        // Deleted while its document was read: a block that is gone has nothing loaded.
        if (store.blocks.find(label) === null) return err(NOT_FOUND);
        const { version, sha256, content } = document;
        store.skills.load({ label, key, version, sha256, tokens: estimateText(content), loaded_at: now });
        return ok(null);
      },
      () => null,
    );
    return recorded.ok ? { ok: true, value: document.content } : recorded;
  }

  /** The document; its version when that can be had again. */
  async #find(row: BlockRow, key: string): Promise<{ content: string; version: number | null; sha256: string | null } | null> {
    if (row.settings.owner === "tenant") return this.#shelf.read(row.settings, key, this.#store.skills.find(row.label, key));
    const entry = this.#store.entries.find(row.label, key);
    return entry === null ? null : { content: entry.content, version: null, sha256: null };
  }

  unload(label: string, key: string): boolean {
    const done = this.#once(
      (store) => {
        const closed = checkOpen(store);
        return closed === null ? ok(store.skills.unload(label, key)) : err(closed);
      },
      (kept) => kept === "true",
    );
    return done.ok && done.value;
  }

  loaded(): string[] {
    return this.#store.skills.loaded().map(({ label, key }) => `${label}:${key}`);
  }

  search(label: string, query: string): string | null {
    const found = this.#store.entries.search(label, query, MAX_RESULTS);
    return resultsText(found.map(({ key, content }) => ({ heading: key, content })));
  }

  /** A session without a user has no other conversations: it searches its own. */
  async searchSessions(query: string): Promise<string | null> {
    const refused = await buildIndex(this.#store);
    const found =
      refused === null ? searchMessages(this.#store, { q: query, limit: MAX_RESULTS, created: ANY_TIME }) : err(refused);
    if (!found.ok) {
      this.problem = found.error;
      return null;
    }
    return resultsText(found.value.hits.map(({ role, content }) => ({ heading: role, content })));
  }

  async recall(what: Recall): Promise<Outcome<string | null>> {
    const refused = what.query === undefined ? null : await buildIndex(this.#store);
    return refused === null ? readOriginals(this.#store, what) : { ok: false, because: refused.detail };
  }
}

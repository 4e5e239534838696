/** Defining, changing and removing blocks. What may refuse a write comes first; then its rows, in one turn. */
import {
  MAX_BLOCKS,
  MAX_CONTEXT_BYTES,
  type NewBlock,
  type PatchBlock,
  type PutBlock,
  misplacedField,
} from "@sessionplane/shared/block";
import { NOT_FOUND, type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { IfMatch } from "@sessionplane/shared/rpc/session-rpc";
import { appended } from "@sessionplane/engine/context/context-block";
import { CONTEXT_FULL, overLimit } from "@sessionplane/engine/context/new-blocks";
import { utf8Bytes } from "@sessionplane/engine/messages/split-text";
import { checkOpen, checkRoom } from "../messages/write-checks.ts";
import type { SessionStore } from "../session-store.ts";
import type { BlockDraft, BlockRow } from "./block-store.ts";
import { hasText } from "./show-block.ts";

const STALE = problem("precondition_failed", "It is not at the revision that If-Match or If-None-Match asks for.");
const OTHER_KIND = problem("wrong_block_kind", "A block stays of its kind: delete it first, or take another label.");
export const NO_TEXT = problem(
  "wrong_block_kind",
  "The block has no text of its own: it has entries, or lists the tenant's skills.",
);

/** What is there, when it is what the caller expects to be there. */
export function expected<T extends { readonly revision: number }>(
  present: T | null,
  ifMatch: IfMatch | undefined,
): Result<T | null, Problem> {
  if (ifMatch === undefined) return ok(present);
  if (ifMatch === "none") return present === null ? ok(null) : err(STALE);
  if (present === null) return err(STALE);
  return ifMatch === "any" || ifMatch === present.revision ? ok(present) : err(STALE);
}

/** The same for a write that makes nothing. */
export function mustBe<T extends { readonly revision: number }>(
  present: T | null,
  ifMatch: IfMatch | undefined,
): Result<T, Problem> {
  const found = expected(present, ifMatch);
  if (!found.ok) return found;
  return found.value === null ? err(NOT_FOUND) : ok(found.value);
}

/** Whether the text may be the block's. */
function checkText(store: SessionStore, draft: BlockDraft, before: BlockRow | null): Problem | null {
  const bytes = utf8Bytes(draft.content);
  // A text that was there stays: then it is the limit that does not fit.
  const pointer = draft.content === before?.content ? "/max_tokens" : "/content";
  if (store.blocks.bytesBeside(draft.label) + bytes > MAX_CONTEXT_BYTES) return CONTEXT_FULL;
  return overLimit(draft.label, pointer, draft.content, draft.max_tokens) ?? checkRoom(store, bytes);
}

/** The block that is written; the same again is no change. */
function write(store: SessionStore, draft: BlockDraft, before: BlockRow | null, now: number): Result<BlockRow, Problem> {
  const refused = checkText(store, draft, before);
  if (refused !== null) return err(refused);
  if (before === null || !isSame(before, draft)) store.blocks.put(draft, now);
  const row = store.blocks.find(draft.label);
  if (row === null) throw new Error("a block that was just written is not there");
  return ok(row);
}

const definitionOf = ({ label, kind, description, content, max_tokens, settings }: BlockDraft): string =>
  JSON.stringify([
    label,
    kind,
    description,
    content,
    max_tokens,
    settings.owner,
    settings.prefix,
    settings.keys,
    settings.writable,
    settings.when_changed,
  ]);
const isSame = (before: BlockRow, draft: BlockDraft): boolean => definitionOf(before) === definitionOf(draft);

/** A block as it will be stored. What is not said of it stays as it is, or is nothing. */
export function draftOf(label: string, block: PutBlock, before: BlockRow | null): BlockDraft {
  const { kind, description = null, content = before?.content ?? "", max_tokens = null } = block;
  const owner = kind === "skills" ? (block.owner ?? "tenant") : null;
  // What models write may be closed to them; what is theirs by kind, or never theirs, is not asked.
  const writable = kind === "writable" || ((kind === "search" || owner === "session") && block.writable !== false);
  const { prefix = null, keys = null, when_changed = "wait" } = block;
  const settings = { owner, prefix, keys: keys?.length === 0 ? null : keys, writable, when_changed };
  return { label, kind, description, content, max_tokens, settings };
}

export type PutInput = { readonly label: string; readonly block: PutBlock; readonly if_match?: IfMatch };

export function putBlock(
  store: SessionStore,
  { label, block, if_match: ifMatch }: PutInput,
  now: number,
): Result<{ readonly row: BlockRow; readonly made: boolean }, Problem> {
  const found = expected(store.blocks.find(label), ifMatch);
  if (!found.ok) return found;
  const before = found.value;
  const draft = draftOf(label, block, before);
  const isOther = before !== null && (before.kind !== draft.kind || before.settings.owner !== draft.settings.owner);
  const refused = checkOpen(store) ?? (isOther ? OTHER_KIND : null);
  if (refused !== null) return err(refused);
  if (before === null && store.blocks.all().length >= MAX_BLOCKS)
    return err(problem("context_full", `A session has at most ${MAX_BLOCKS} blocks.`));
  const written = write(store, draft, before, now);
  return written.ok ? ok({ row: written.value, made: before === null }) : written;
}

type Change = { readonly label: string; readonly if_match?: IfMatch };

export function patchBlock(
  store: SessionStore,
  { label, patch, if_match: ifMatch }: Change & { readonly patch: PatchBlock },
  now: number,
): Result<BlockRow, Problem> {
  const found = mustBe(store.blocks.find(label), ifMatch);
  if (!found.ok) return found;
  const before = found.value;
  const { kind, settings } = before;
  const misplaced = misplacedField(kind, settings.owner ?? "tenant", patch);
  if (misplaced !== null) return err(fieldProblem("invalid", `/${misplaced}`, `means nothing for a block of kind ${kind}`));
  const { description = before.description, content = before.content, max_tokens = before.max_tokens } = patch;
  const { prefix = settings.prefix, keys = settings.keys, writable = settings.writable } = patch;
  const changed = {
    ...settings,
    ...{ prefix, writable, keys: keys?.length === 0 ? null : keys },
    when_changed: patch.when_changed ?? settings.when_changed,
  };
  const refused = checkOpen(store);
  if (refused !== null) return err(refused);
  return write(store, { label, kind, description, content, max_tokens, settings: changed }, before, now);
}

/** The text of a block that has one, and nothing else of it. */
export function writeText(
  store: SessionStore,
  { label, content, action, if_match: ifMatch }: Change & { readonly content: string; readonly action: "replace" | "append" },
  now: number,
): Result<BlockRow, Problem> {
  const found = mustBe(store.blocks.find(label), ifMatch);
  if (!found.ok) return found;
  const refused = checkOpen(store) ?? (hasText(found.value) ? null : NO_TEXT);
  if (refused !== null) return err(refused);
  const text = action === "append" ? appended(found.value.content, content) : content;
  return write(store, { ...found.value, content: text }, found.value, now);
}

export function deleteBlock(store: SessionStore, { label, if_match: ifMatch }: Change): Result<null, Problem> {
  const found = mustBe(store.blocks.find(label), ifMatch);
  if (!found.ok) return found;
  const refused = checkOpen(store);
  if (refused !== null) return err(refused);
  store.blocks.delete(label);
  store.entries.deleteAll(label);
  store.skills.dropBlock(label);
  return ok(null);
}

/** The blocks of a session that is being made. */
export function beginWith(store: SessionStore, blocks: readonly NewBlock[], now: number): void {
  for (const { label, ...block } of blocks) store.blocks.put(draftOf(label, block, null), now);
}

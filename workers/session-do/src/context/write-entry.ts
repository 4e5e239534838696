/** The entries of a block: documents of the session's own, or what models search. */
import { MAX_ENTRIES_PER_BLOCK, type PutEntry } from "@sessionplane/shared/block";
import { NOT_FOUND, type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { EntryPage } from "@sessionplane/shared/rpc/context-rpc";
import type { IfMatch } from "@sessionplane/shared/rpc/session-rpc";
import type { StoredEntry } from "@sessionplane/engine/storage/sqlite/entry-store";
import { utf8Bytes } from "@sessionplane/engine/messages/split-text";
import { checkOpen, checkRoom } from "../messages/write-checks.ts";
import type { SessionStore } from "../session-store.ts";
import { hasEntries, toEntry } from "./show-block.ts";
import { expected, mustBe } from "./write-block.ts";

const NO_ENTRIES = problem("wrong_block_kind", "The block has no entries: it has a text, or lists the tenant's skills.");

export const tooManyEntries = (label: string): Problem =>
  problem("context_full", `A block has at most ${MAX_ENTRIES_PER_BLOCK} entries: "${label}" has no room for more.`);

/** Not there, or without entries. */
export function checkBlock(store: SessionStore, label: string): Problem | null {
  const block = store.blocks.find(label);
  if (block === null) return NOT_FOUND;
  return hasEntries(block) ? null : NO_ENTRIES;
}

type Place = { readonly label: string; readonly key: string };

export function listEntries(
  store: SessionStore,
  { label, limit, after }: { readonly label: string; readonly limit: number; readonly after?: string },
): Result<EntryPage, Problem> {
  const refused = checkBlock(store, label);
  if (refused !== null) return err(refused);
  const { entries, more } = store.entries.list(label, limit, after);
  return ok({ items: entries.map(toEntry), has_more: more });
}

export function findEntry(store: SessionStore, { label, key }: Place): Result<StoredEntry, Problem> {
  const entry = checkBlock(store, label) === null ? store.entries.find(label, key) : null;
  return entry === null ? err(NOT_FOUND) : ok(entry);
}

export function putEntry(
  store: SessionStore,
  { label, key, entry, if_match: ifMatch }: Place & { readonly entry: PutEntry; readonly if_match?: IfMatch },
  now: number,
): Result<{ readonly entry: StoredEntry; readonly made: boolean }, Problem> {
  const refused = checkBlock(store, label) ?? checkOpen(store) ?? checkRoom(store, utf8Bytes(entry.content));
  if (refused !== null) return err(refused);
  const found = expected(store.entries.find(label, key), ifMatch);
  if (!found.ok) return found;
  const made = found.value === null;
  if (made && store.entries.count(label) >= MAX_ENTRIES_PER_BLOCK) return err(tooManyEntries(label));
  return ok({ entry: store.entries.put(label, key, entry, now), made });
}

export function deleteEntry(
  store: SessionStore,
  { label, key, if_match: ifMatch }: Place & { readonly if_match?: IfMatch },
): Result<null, Problem> {
  const refused = checkBlock(store, label) ?? checkOpen(store);
  if (refused !== null) return err(refused);
  const found = mustBe(store.entries.find(label, key), ifMatch);
  if (!found.ok) return found;
  store.entries.delete(label, key);
  return ok(null);
}

/** A block as prompts, tools and the API show it. Pure, but for counting its entries. */
import type { Block, Entry } from "@sessionplane/shared/block";
import { formatInstant } from "@sessionplane/shared/fields";
import type { ContextBlock } from "@sessionplane/engine/context/context-block";
import type { ToolBlock } from "@sessionplane/engine/context/tools";
import { listingOf } from "@sessionplane/engine/context/listing";
import type { EntryStore, StoredEntry } from "@sessionplane/engine/storage/sqlite/entry-store";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import type { BlockRow } from "./block-store.ts";

/** UTF-8 bytes of a list of documents in a prompt. */
const MAX_LISTING_BYTES = 16_384;

/** The tenant's skills as the blocks list them, by label. */
export type Listings = ReadonlyMap<string, string>;

export const listing = (documents: Parameters<typeof listingOf>[0]): string => listingOf(documents, MAX_LISTING_BYTES);

export const hasText = ({ kind }: BlockRow): boolean => kind === "readonly" || kind === "writable";
/** Whether what is written into it has a key. The tenant's skills are written elsewhere. */
export const hasEntries = ({ kind, settings }: BlockRow): boolean =>
  kind === "search" || (kind === "skills" && settings.owner === "session");

function contentOf(row: BlockRow, entries: EntryStore, listings: Listings): string {
  if (row.kind === "search") {
    const count = entries.count(row.label);
    return `${count} ${count === 1 ? "entry" : "entries"} indexed.`;
  }
  if (row.kind !== "skills") return row.content;
  return row.settings.owner === "session" ? listing(entries.headings(row.label)) : (listings.get(row.label) ?? "");
}

/** Without its content: with many entries that is much to read, and no tool asks for it. */
export const toToolBlock = ({ label, kind, description, settings }: BlockRow): ToolBlock => ({
  label,
  description: description ?? undefined,
  writable: settings.writable,
  isSkill: kind === "skills",
  isSearchable: kind === "search",
});

export function toContextBlock(row: BlockRow, entries: EntryStore, listings: Listings): ContextBlock {
  const content = contentOf(row, entries, listings);
  return {
    ...toToolBlock(row),
    content,
    tokens: hasText(row) ? row.tokens : estimateText(content),
    maxTokens: row.max_tokens ?? undefined,
  };
}

export function toBlock(row: BlockRow, entries: EntryStore, listings: Listings): Block {
  const { content, tokens, writable, isSkill, isSearchable } = toContextBlock(row, entries, listings);
  return {
    label: row.label,
    description: row.description,
    kind: row.kind,
    content,
    tokens,
    max_tokens: row.max_tokens,
    writable,
    is_skill: isSkill,
    is_searchable: isSearchable,
    owner: row.settings.owner,
    prefix: row.settings.prefix,
    keys: row.settings.keys,
    when_changed: row.settings.when_changed,
    created_at: formatInstant(row.created_at),
    updated_at: formatInstant(row.updated_at),
    revision: row.revision,
  };
}

export const toEntry = ({ created_at, updated_at, ...entry }: StoredEntry): Entry => ({
  ...entry,
  created_at: formatInstant(created_at),
  updated_at: formatInstant(updated_at),
});

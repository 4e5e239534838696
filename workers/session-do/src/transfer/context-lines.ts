/** The context of a session as lines: its blocks, their entries, the prompt that is frozen, the skills that are loaded. */
import { formatInstant } from "@sessionplane/shared/fields";
import type { BlockLine, ContextLine, SkillLine } from "@sessionplane/shared/transfer";
import type { Range } from "@sessionplane/engine/tree/runs";
import type { BlockRow } from "../context/block-store.ts";
import { hasEntries, hasText } from "../context/show-block.ts";
import type { SessionStore } from "../session-store.ts";

const ENTRIES_PER_READ = 100;

/** What a definition says, and nothing that follows from its kind. */
function blockOf(row: BlockRow): BlockLine["block"] {
  const { label, kind, description, content, max_tokens, settings } = row;
  const { owner, prefix, keys, writable, when_changed } = settings;
  return {
    ...{ label, kind, description },
    ...(owner === null ? {} : { owner }),
    ...(hasText(row) ? { content, max_tokens } : {}),
    ...(owner === "tenant" ? { prefix, keys } : {}),
    ...(hasEntries(row) ? { writable } : {}),
    when_changed,
  };
}

const moments = ({ created_at, updated_at }: { readonly created_at: number; readonly updated_at: number }) => ({
  created_at: formatInstant(created_at),
  updated_at: formatInstant(updated_at),
});

function* entriesOf(store: SessionStore, label: string): Generator<ContextLine> {
  for (let after: string | undefined, more = true; more;) {
    const page = store.entries.list(label, ENTRIES_PER_READ, after);
    for (const { key, content, description, ...rest } of page.entries)
      yield { kind: "entry", ...moments(rest), entry: { label, key, content, description } };
    after = page.entries.at(-1)?.key;
    ({ more } = page);
  }
}

/** Blocks and entries, read as they are taken: what is deleted meanwhile is not there. */
export function* blockLines(store: SessionStore): Generator<ContextLine> {
  for (const [index, row] of store.blocks.all().entries()) {
    yield { kind: "block", position: index + 1, ...moments(row), block: blockOf(row) };
    if (hasEntries(row)) yield* entriesOf(store, row.label);
  }
}

/** `path`: only skills that a message of it shows; absent: all. */
export function* stateLines(store: SessionStore, path: readonly Range[] | undefined): Generator<ContextLine> {
  const frozen = store.prompt.frozen();
  if (frozen !== null) yield { kind: "prompt", prompt: frozen.prompt, frozen_at: formatInstant(frozen.frozen_at) };
  for (const { label, key, version, sha256, tokens, loaded_at: at } of store.skills.loaded()) {
    if (path !== undefined && !store.skills.isShownOn(path, label, key)) continue;
    yield { kind: "skill", label, key, version, sha256, tokens, loaded_at: formatInstant(at) } satisfies SkillLine;
  }
}

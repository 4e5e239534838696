/**
 * Context blocks as the system prompt: a ruled header a block, then its text. Pure: the same blocks give the
 * same characters, so that a provider's prompt cache holds. Source of the format: Cloudflare's Session API.
 */
import { type ContextBlock, percentUsed } from "./context-block.ts";

const RULE_LENGTH = 46;
const RULE = "═".repeat(RULE_LENGTH);
/** Between two sections. */
const BETWEEN = "\n\n";
const FAINT = "─";
/** As long as this a reader takes it for a rule, whatever stands around it on its line. */
const LIKE_A_RULE = /═{10,}/g;

function tagOf({ isSearchable, isSkill, writable }: ContextBlock): string {
  if (isSearchable) return "[searchable]";
  if (isSkill) return "[loadable]";
  return writable ? "[writable]" : "[readonly]";
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

const titleOf = ({ label }: ContextBlock): string => oneLine(label).toUpperCase();

function headerOf(block: ContextBlock): string {
  const description = block.description === undefined ? "" : oneLine(block.description);
  return [
    titleOf(block),
    ...(description === "" ? [] : [`(${description})`]),
    ...(block.maxTokens === undefined
      ? []
      : [`[${percentUsed(block.tokens, block.maxTokens)}% — ${block.tokens}/${block.maxTokens} tokens]`]),
    tagOf(block),
  ].join(" ");
}

/** What a model wrote can't begin a section of its own: a rule in it is drawn with another character. */
const textOf = ({ content, writable }: ContextBlock): string =>
  writable ? content.replaceAll(LIKE_A_RULE, ({ length }) => FAINT.repeat(length)) : content;

export const renderSection = (block: ContextBlock): string => [RULE, headerOf(block), RULE, textOf(block)].join("\n");

/** A block that a model can do nothing with is left out while it is empty. */
const isShown = ({ content, writable, isSkill, isSearchable }: ContextBlock): boolean =>
  content !== "" || writable || isSkill || isSearchable;

/** In the order in which the blocks were declared. Empty when there is nothing to show. */
export const renderPrompt = (blocks: readonly ContextBlock[]): string => blocks.filter(isShown).map(renderSection).join(BETWEEN);

const REMINDER = "These sections of your context have changed since the system prompt was written. They hold now:";

/**
 * What has to be told to a model beside a frozen prompt: the sections that are not in it as they are now, and
 * those of it that are empty now. Goes to the newest message of a call, never into the prompt, whose prefix is cached. Null: nothing changed.
 */
export function renderReminder(frozen: string, blocks: readonly ContextBlock[]): string | null {
  const changed = blocks
    .filter((block) => isShown(block) || `${BETWEEN}${frozen}`.includes(`${BETWEEN}${RULE}\n${titleOf(block)} `))
    .map(renderSection)
    // The whole section: a text that was shortened begins as the old one did.
    .filter((section) => !`${BETWEEN}${frozen}${BETWEEN}${RULE}`.includes(`${BETWEEN}${section}${BETWEEN}${RULE}`));
  return changed.length === 0 ? null : [REMINDER, ...changed].join(BETWEEN);
}

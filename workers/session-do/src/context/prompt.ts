/** The system prompt: rendered of the blocks once, kept, and rendered again when someone asks for that. */
import type { Prompt, Tool } from "@sessionplane/shared/block";
import { formatInstant } from "@sessionplane/shared/fields";
import { renderPrompt, renderReminder } from "@sessionplane/engine/context/render-prompt";
import { inputSchemaOf, toolDefinitions } from "@sessionplane/engine/context/tools";
import { estimateText } from "@sessionplane/engine/tokens/estimate";
import type { SessionStore } from "../session-store.ts";
import type { FrozenPrompt } from "./prompt-store.ts";
import { type Listings, toContextBlock, toToolBlock } from "./show-block.ts";

/** Whether one is kept, so that nothing has to be rendered. */
export const isFrozen = (store: SessionStore): boolean => store.prompt.frozen() !== null;

/** Whether what is kept may have to be compared with what the blocks list now. */
export const remindsOfSkills = (store: SessionStore): boolean =>
  store.blocks.all().some(({ kind, settings }) => kind === "skills" && settings.when_changed === "remind");

function freeze(store: SessionStore, listings: Listings, now: number): FrozenPrompt {
  const prompt = renderPrompt(store.blocks.all().map((row) => toContextBlock(row, store.entries, listings)));
  const frozen = { prompt, tokens: estimateText(prompt), frozen_at: now };
  store.prompt.freeze(frozen);
  return frozen;
}

function show(store: SessionStore, { prompt, tokens, frozen_at: at }: FrozenPrompt, listings: Listings): Prompt {
  const reminding = store.blocks.all().filter(({ settings }) => settings.when_changed === "remind");
  const reminder = renderReminder(
    prompt,
    reminding.map((row) => toContextBlock(row, store.entries, listings)),
  );
  return { prompt, tokens, frozen_at: formatInstant(at), reminder };
}

/** `listings`: of the tenant's skills, read just before. Whoever froze it in between was first. */
export const readPrompt = (store: SessionStore, listings: Listings, now: number): Prompt =>
  show(store, store.prompt.frozen() ?? freeze(store, listings, now), listings);

export const refreshPrompt = (store: SessionStore, listings: Listings, now: number): Prompt =>
  show(store, freeze(store, listings, now), listings);

export function listTools(store: SessionStore): Tool[] {
  const definitions = toolDefinitions(store.blocks.all().map(toToolBlock), {
    sessionSearch: true,
    recall: store.overlays.all().length > 0,
  });
  return definitions.map((tool) => ({ name: tool.name, description: tool.description, input_schema: inputSchemaOf(tool) }));
}

/**
 * The tools that a model gets for a session's context: which there are, what they say of themselves, what they
 * take. Pure. A tool's words depend on the blocks alone, not on what is loaded or written: a provider's prompt
 * cache holds tools too. Source of names and arguments: Cloudflare's Session API.
 */
import * as z from "zod";
import type { ContextBlock } from "./context-block.ts";
import { isKeyed } from "./context-block.ts";

/** What tools know of a block: not what is in it. */
export type ToolBlock = Pick<ContextBlock, "label" | "description" | "writable" | "isSkill" | "isSearchable">;

/** What a session offers beside its blocks. */
export type Abilities = {
  /** Other conversations can be searched. */
  readonly sessionSearch: boolean;
  /** There are summaries whose originals can be read. */
  readonly recall: boolean;
};

export type ToolDefinition = {
  readonly name: ToolName;
  readonly description: string;
  /** What it takes, for a model and for whoever checks what a model sent. */
  readonly schema: z.ZodObject;
};

/** The labels are told to the model; another one is answered with a sentence, not refused as malformed. */
const labelSchema = (labels: readonly string[]) => z.string().meta({ enum: [...labels], description: "The block's label" });

const line = ({ label, description }: ToolBlock): string => `- "${label}"${description === undefined ? "" : `: ${description}`}`;
const labelsOf = (blocks: readonly ToolBlock[]): string[] => blocks.map(({ label }) => label);

const kindOf = (block: ToolBlock): string => {
  if (block.isSkill) return " (a document by its title)";
  return block.isSearchable ? " (an entry by its title)" : "";
};

export const setContextArguments = z.object({
  label: z.string(),
  content: z.string(),
  action: z.enum(["replace", "append"]).optional(),
  metadata: z.object({ title: z.string().optional(), description: z.string().optional() }).optional(),
});
export const keyArguments = z.object({ label: z.string(), key: z.string().min(1) });
export const searchArguments = z.object({ label: z.string(), query: z.string() });
export const queryArguments = z.object({ query: z.string() });
export const recallArguments = z.object({
  summary_id: z.string().optional(),
  query: z.string().optional(),
  after: z.string().optional(),
});

function setContext(blocks: readonly ToolBlock[]): ToolDefinition {
  const keyed = blocks.some(isKeyed);
  const metadata = z
    .object({
      title: z.string().optional().meta({ description: "Names the entry: the same title replaces it" }),
      description: z.string().optional().meta({ description: "One line that says what is in it" }),
    })
    .optional()
    .meta({ description: "For a document or an entry alone" });
  return {
    name: "set_context",
    description: [
      "Writes to a block of your context and keeps it for later turns. Blocks:",
      ...blocks.map((block) => line(block) + kindOf(block)),
      "Write facts that will matter later. The block in your system prompt shows the change from a later turn on.",
    ].join("\n"),
    schema: z.object({
      label: labelSchema(labelsOf(blocks)),
      content: z.string().meta({ description: "The text to write" }),
      action: z
        .enum(["replace", "append"])
        .optional()
        .meta({ description: "replace: the content becomes this text (the default). append: the text goes below it" }),
      ...(keyed ? { metadata } : {}),
    }),
  };
}

const loadContext = (blocks: readonly ToolBlock[]): ToolDefinition => ({
  name: "load_context",
  description: ["Loads a document by its key, as its block lists it. Blocks:", ...blocks.map(line)].join("\n"),
  schema: z.object({
    label: labelSchema(labelsOf(blocks)),
    key: z.string().min(1).meta({ description: "The document's key" }),
  }),
});

const unloadContext = (blocks: readonly ToolBlock[]): ToolDefinition => ({
  name: "unload_context",
  description: "Takes a document that you loaded and no longer need out of your context. It can be loaded again.",
  schema: z.object({
    label: labelSchema(labelsOf(blocks)),
    key: z.string().min(1).meta({ description: "The key that it was loaded by" }),
  }),
});

const searchContext = (blocks: readonly ToolBlock[]): ToolDefinition => ({
  name: "search_context",
  description: ["Searches the entries of a block, all words of the query in each. Blocks:", ...blocks.map(line)].join("\n"),
  schema: z.object({
    label: labelSchema(labelsOf(blocks)),
    query: z.string().meta({ description: 'Words, "a phrase" or the beginning of a word with *' }),
  }),
});

const SESSION_SEARCH: ToolDefinition = {
  name: "session_search",
  description: "Searches what was said in earlier conversations.",
  schema: z.object({ query: z.string().meta({ description: 'Words, "a phrase" or the beginning of a word with *' }) }),
};

const RECALL: ToolDefinition = {
  name: "recall",
  description:
    "Reads the messages that a summary in this conversation stands for, word for word. Give summary_id to read them " +
    "from the first on, or query to find the ones with some words.",
  schema: z.object({
    summary_id: z.string().optional().meta({ description: "The id of the summary's message" }),
    query: z.string().optional().meta({ description: "Words to look for in the messages behind all summaries" }),
    after: z.string().optional().meta({ description: "The id of the message to go on after" }),
  }),
};

/** In this order, each when it has something to work on. */
export function toolDefinitions(blocks: readonly ToolBlock[], { sessionSearch, recall }: Abilities): ToolDefinition[] {
  const writable = blocks.filter((block) => block.writable);
  const skills = blocks.filter((block) => block.isSkill);
  const searchable = blocks.filter((block) => block.isSearchable);
  return [
    ...(writable.length > 0 ? [setContext(writable)] : []),
    ...(skills.length > 0 ? [loadContext(skills), unloadContext(skills)] : []),
    ...(searchable.length > 0 ? [searchContext(searchable)] : []),
    ...(sessionSearch ? [SESSION_SEARCH] : []),
    ...(recall ? [RECALL] : []),
  ];
}

export const TOOL_NAMES = [
  "set_context",
  "load_context",
  "unload_context",
  "search_context",
  "session_search",
  "recall",
] as const;
export type ToolName = (typeof TOOL_NAMES)[number];
export const isToolName = (name: string): name is ToolName => TOOL_NAMES.some((one) => one === name);

/** The schema as JSON Schema, for any model. */
export const inputSchemaOf = ({ schema }: ToolDefinition): Record<string, unknown> => {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema);
  return rest;
};

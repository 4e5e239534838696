/**
 * A context block: a named section of a session's system prompt, by whom it is written and what is in it. What
 * its kinds are and how they are shown is Cloudflare's Session API; over HTTP a block is data, not code.
 */
import * as z from "zod";
import { skillKeySchema } from "./skill.ts";

/** Of one session. */
export const MAX_BLOCKS = 32;
/** UTF-8 bytes of all blocks of a session: the prompt that they make is one row. */
export const MAX_CONTEXT_BYTES = 1_048_576;
/** UTF-8 bytes: the texts of all blocks, their headers and lists of documents, in one row. */
export const MAX_PROMPT_BYTES = 1_835_008;
export const MAX_ENTRIES_PER_BLOCK = 10_000;
const MAX_ENTRY_LENGTH = 262_144;
const MAX_LISTED_KEYS = 1_000;

/** The start of a key, as a prefix of several. */
const keyPrefixSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, "letters, digits, dots, dashes and underscores");

export const blockLabelSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "1 to 64 letters, digits, dots, dashes and underscores");

export const MAX_BLOCK_DESCRIPTION_LENGTH = 1_000;

/** One line: it stands in the header of the block's section. */
const descriptionSchema = z
  .string()
  .max(MAX_BLOCK_DESCRIPTION_LENGTH)
  .regex(/^[^\p{Cc}\u2028\u2029]*$/u, "one line, without control characters");

export const blockKindSchema = z.enum(["readonly", "writable", "skills", "search"]).meta({
  description:
    "readonly: shown to models. writable: models rewrite it with set_context. skills: documents that models load by key. " +
    "search: entries that models search",
});
export type BlockKind = z.infer<typeof blockKindSchema>;

/** Whose documents a block of skills lists: the tenant's registry, which no model writes to, or its own entries. */
export const skillsOwnerSchema = z.enum(["tenant", "session"]);
/** Whether a change of the block is told to the model beside a frozen prompt. */
export const whenChangedSchema = z.enum(["wait", "remind"]);

const maxTokensSchema = z.int().min(1).max(1_000_000);

const fields = {
  description: descriptionSchema.nullable().optional(),
  content: z.string().optional().meta({ description: "Left out: what is there stays" }),
  max_tokens: maxTokensSchema.nullable().optional().meta({ description: "The content has at most so many" }),
  prefix: keyPrefixSchema
    .nullable()
    .optional()
    .meta({ description: "Only skills whose key begins so; models see the rest of the key" }),
  keys: z
    .array(skillKeySchema)
    .max(MAX_LISTED_KEYS)
    .nullable()
    .optional()
    .meta({ description: "Only these skills, after the prefix. Empty: all" }),
  writable: z.boolean().optional().meta({ description: "Whether models may write entries. Of a block that has its own" }),
  when_changed: whenChangedSchema.optional(),
};

type Fields = { readonly [name in keyof typeof fields]?: unknown };

/** What says nothing for a block of this kind is refused, or it would be believed to do something. */
export function misplacedField(kind: BlockKind, owner: "tenant" | "session", given: Fields): string | null {
  const hasText = kind === "readonly" || kind === "writable";
  const ownsEntries = kind === "search" || (kind === "skills" && owner === "session");
  const allowed: Record<string, boolean> = {
    content: hasText,
    max_tokens: hasText,
    prefix: kind === "skills" && owner === "tenant",
    keys: kind === "skills" && owner === "tenant",
    writable: ownsEntries,
  };
  const name = Object.keys(given).find((one) => given[one as keyof Fields] !== undefined && allowed[one] === false);
  return name ?? null;
}

const definition = z.strictObject({ kind: blockKindSchema, owner: skillsOwnerSchema.optional(), ...fields });

const checked = (block: z.output<typeof definition>, ctx: z.RefinementCtx): void => {
  if (block.owner !== undefined && block.kind !== "skills")
    ctx.addIssue({ code: "custom", path: ["owner"], message: "only a block of skills has an owner" });
  const misplaced = misplacedField(block.kind, block.owner ?? "tenant", block);
  if (misplaced !== null)
    ctx.addIssue({ code: "custom", path: [misplaced], message: `means nothing for a block of kind ${block.kind}` });
};

export const putBlockSchema = definition.superRefine(checked).meta({ id: "PutBlock" });
export type PutBlock = z.infer<typeof putBlockSchema>;

/** As part of a new session. */
export const newBlockSchema = definition.extend({ label: blockLabelSchema }).superRefine(checked).meta({ id: "NewBlock" });
export type NewBlock = z.infer<typeof newBlockSchema>;

export const newBlocksSchema = z
  .array(newBlockSchema)
  .max(MAX_BLOCKS)
  .refine((blocks) => new Set(blocks.map(({ label }) => label)).size === blocks.length, { message: "a label is there twice" });

/** Merges; null deletes. A block stays of its kind. */
export const patchBlockSchema = z.strictObject(fields).meta({ id: "PatchBlock" });
export type PatchBlock = z.infer<typeof patchBlockSchema>;

export const appendToBlockSchema = z.strictObject({ content: z.string().min(1) }).meta({ id: "AppendToBlock" });

export const blockSchema = z
  .object({
    label: z.string(),
    description: z.string().nullable(),
    kind: blockKindSchema,
    content: z
      .string()
      .meta({ description: "As the prompt would show it now; of skills and entries: a list, or how many there are" }),
    tokens: z.int(),
    max_tokens: z.int().nullable(),
    writable: z.boolean().meta({ description: "By models" }),
    is_skill: z.boolean(),
    is_searchable: z.boolean(),
    owner: skillsOwnerSchema.nullable(),
    prefix: z.string().nullable(),
    keys: z.array(z.string()).nullable(),
    when_changed: whenChangedSchema,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    revision: z.int(),
  })
  .meta({ id: "Block" });
export type Block = z.infer<typeof blockSchema>;

export const putEntrySchema = z
  .strictObject({
    content: z.string().min(1).max(MAX_ENTRY_LENGTH),
    description: descriptionSchema.nullable().optional().meta({ description: "Left out: what is there stays" }),
  })
  .meta({ id: "PutEntry" });
export type PutEntry = z.infer<typeof putEntrySchema>;

export const entrySchema = z
  .object({
    label: z.string(),
    key: z.string(),
    content: z.string(),
    description: z.string().nullable(),
    tokens: z.int(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    revision: z.int(),
  })
  .meta({ id: "BlockEntry" });
export type Entry = z.infer<typeof entrySchema>;

export const promptSchema = z
  .object({
    prompt: z.string(),
    tokens: z.int(),
    frozen_at: z.iso.datetime(),
    reminder: z.string().nullable().meta({
      description: "What changed since, of blocks with when_changed remind: for the newest message of a call, not for the prompt",
    }),
  })
  .meta({ id: "Prompt" });
export type Prompt = z.infer<typeof promptSchema>;

export const toolSchema = z
  .object({ name: z.string(), description: z.string(), input_schema: z.record(z.string(), z.unknown()) })
  .meta({ id: "Tool" });
export type Tool = z.infer<typeof toolSchema>;

export const runToolSchema = z
  .strictObject({ arguments: z.unknown().meta({ description: "As the model sent them: an object, or one as JSON in a string" }) })
  .meta({ id: "RunTool" });

export const toolAnswerSchema = z
  .object({
    output: z.string().meta({ description: "For the model" }),
    is_error: z.boolean().meta({ description: "The call came to nothing, and the output says why" }),
  })
  .meta({ id: "ToolAnswer" });
export type ToolReply = z.infer<typeof toolAnswerSchema>;

export const loadedSkillSchema = z
  .object({
    label: z.string(),
    key: z.string(),
    version: z.int().nullable().meta({ description: "Which loading it again gives; null: the present one" }),
    tokens: z.int().meta({ description: "What it costs in the history" }),
    loaded_at: z.iso.datetime(),
  })
  .meta({ id: "LoadedSkill" });
export type LoadedSkillReply = z.infer<typeof loadedSkillSchema>;

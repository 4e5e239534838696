/**
 * A skill: a document of a tenant that a model loads when it needs it. The description is what the model
 * reads to decide; the document is what it loads. Versions count up and are never used twice.
 */
import * as z from "zod";

export const MAX_SKILL_BYTES = 1024 * 1024;
const MAX_KEY_CHARACTERS = 128;
const MAX_DESCRIPTION_CHARACTERS = 400;

/** ASCII without anything that means something in a path: a key stands in URLs and in R2's keys as it is. */
export const skillKeySchema = z
  .string()
  .min(1)
  .max(MAX_KEY_CHARACTERS)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, "begins with a letter or digit and goes on with letters, digits, '.', '_' and '-'")
  .refine((key) => !key.includes(".."), "has no two dots in a row");

/** Control characters and whatever else ends a line. */
const NOT_ON_ONE_LINE = /[\p{Cc}\u2028\u2029]/u;

/** Characters are code points here, so that an emoji counts as one. */
const charactersOf = (text: string): number => Array.from(text).length;

/** Empty says that there is none. */
export const skillDescriptionSchema = z
  .string()
  .trim()
  .refine((text) => charactersOf(text) <= MAX_DESCRIPTION_CHARACTERS, `has at most ${MAX_DESCRIPTION_CHARACTERS} characters`)
  .refine((text) => !NOT_ON_ONE_LINE.test(text), "is one line without control characters")
  .refine((text) => text.isWellFormed(), "holds half of a surrogate pair, which is not Unicode text")
  .transform((text) => (text === "" ? null : text));

export const skillSchema = z
  .object({
    key: z.string(),
    version: z.int().min(1),
    description: z.string().nullable(),
    bytes: z.int(),
    token_estimate: z.int(),
    sha256: z.string().meta({ description: "Of the document's UTF-8, in hex" }),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime().meta({ description: "When this version was written" }),
  })
  .meta({ id: "Skill" });
export type Skill = z.infer<typeof skillSchema>;

export const skillDocumentSchema = skillSchema.extend({ content: z.string() }).meta({ id: "SkillDocument" });
export type SkillDocument = z.infer<typeof skillDocumentSchema>;

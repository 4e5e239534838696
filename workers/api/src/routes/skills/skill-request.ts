/** What the routes of one skill take: its key, and how it is described. */
import * as z from "zod";
import { type Problem, fieldProblem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { skillDescriptionSchema, skillKeySchema } from "@sessionplane/shared/skill";
import { decodeTextHeader } from "../../http/text-header.ts";

/** For reading and deleting: nothing is at a path that can't be a skill's. */
export const skillParams = z.object({ key: skillKeySchema });
/** For writing: what is wrong with the key is said by `keyOf`. */
export const anyKeyParams = z.object({ key: z.string() });

const KEY = "{key}";
export const DESCRIPTION = "Skill-Description";

const firstMessage = (error: z.core.$ZodError): string => error.issues[0]?.message ?? "is invalid";

export function keyOf(text: string): Result<string, Problem> {
  const key = skillKeySchema.safeParse(text);
  return key.success ? ok(key.data) : err(fieldProblem("invalid", KEY, `A skill's key: ${firstMessage(key.error)}.`));
}

/** Undefined when the header is not there, null when it is empty. */
export function descriptionOf(header: string | undefined): Result<string | null | undefined, Problem> {
  if (header === undefined) return ok(undefined);
  const text = decodeTextHeader(header);
  if (!text.ok) return err(fieldProblem("invalid", DESCRIPTION, text.error));
  const description = skillDescriptionSchema.safeParse(text.value);
  if (description.success) return ok(description.data);
  return err(fieldProblem("invalid", DESCRIPTION, firstMessage(description.error)));
}

/** What the writes of messages share: where a message goes, and what the reply says of it and of the session. */
import * as z from "zod";
import { messageSchema, sourceSchema } from "@sessionplane/shared/message";
import type { FieldProblem, Problem } from "@sessionplane/shared/problem";
import { type Result, err } from "@sessionplane/shared/result";

export const place = {
  parent_id: z.string().min(1).max(128).nullable().optional().meta({ description: "Absent: the active leaf. Null: a new root" }),
  source: sourceSchema.optional().meta({ description: "`client` makes less of a key that may write as server" }),
};

export const storedMessage = messageSchema
  .nullable()
  .meta({ description: "As stored. Null in a repetition when it was deleted since" });

export const afterWriteFields = {
  leaf_id: z.string().nullable(),
  token_estimate: z.int().meta({ description: "Tokens of the active history, overlays applied" }),
  compaction_job_id: z.string().nullable(),
};

export const afterWriteSchema = z.object(afterWriteFields).meta({ id: "AfterWrite" });

export const writtenMessageSchema = z
  .object({
    id: z.string(),
    inserted: z.boolean(),
    changed: z.boolean().meta({ description: "False when this is what was stored: then nothing was written" }),
    message: storedMessage,
    version: z.int().meta({ description: "Rises with every change of the message; the ETag" }),
    ...afterWriteFields,
  })
  .meta({ id: "WrittenMessage" });

/** The object speaks of `/messages/0`; the caller of a single one wrote `/message`. */
const single = (error: FieldProblem): FieldProblem => ({
  ...error,
  pointer: error.pointer.replace(/^\/messages\/0\b/, "/message"),
});

export const pointAtSingle = <T>(result: Result<T, Problem>): Result<T, Problem> =>
  result.ok || result.error.errors === undefined ? result : err({ ...result.error, errors: result.error.errors.map(single) });

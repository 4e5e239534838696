/** An overlay: a stored summary that stands for a range of a path when it is read. The originals stay. */
import * as z from "zod";
import { moneySchema } from "./money.ts";

export const retentionSchema = z
  .object({
    facts: z.int(),
    kept: z.int(),
    dropped: z.array(z.string()).meta({ description: "Literals of the range that the summary lost, at most 200" }),
  })
  .meta({ id: "Retention" });
export type Retention = z.infer<typeof retentionSchema>;

/** UTF-8 bytes: a summary is one row. */
const MAX_SUMMARY_BYTES = 1_048_576;
export const summarySchema = z
  .string()
  .min(1)
  .refine((text) => new TextEncoder().encode(text).byteLength <= MAX_SUMMARY_BYTES, {
    message: `at most ${MAX_SUMMARY_BYTES} bytes`,
  });

export const overlaySchema = z
  .object({
    id: z.string(),
    from_id: z.string(),
    to_id: z.string(),
    summary: z.string(),
    messages: z.int().meta({ description: "Messages that it stands for" }),
    tokens_before: z.int(),
    tokens_after: z.int(),
    retention: retentionSchema.nullable(),
    model: z.string().nullable(),
    job_id: z.string().nullable(),
    cost: moneySchema
      .nullable()
      .meta({ description: "Of the calls that made it; null while one is unpriced, or when nobody was called" }),
    stale: z.boolean().meta({ description: "A message that it stands for was edited since" }),
    created_at: z.iso.datetime(),
  })
  .meta({ id: "Overlay" });
export type Overlay = z.infer<typeof overlaySchema>;

/**
 * `catalog-events`: what a session's log tells the catalog. One message covers a gapless stretch of the
 * log, `(after_seq, to_seq]`; when D1 has committed it, the consumer calls `projected` on the object.
 * Delivery is at least once and unordered.
 */
import * as z from "zod";
import { roleSchema } from "../message.ts";
import { compactionJobSchema } from "../compaction-job.ts";
import { parseId } from "../ids.ts";
import { sessionSettingsSchema, storedStatusSchema } from "../session.ts";
import { pricedUsageSchema } from "../usage-event.ts";

/** The session as of a seq: settings and counters whole, so that the newest one alone is enough. */
export const sessionFactSchema = z.object({
  kind: z.literal("session"),
  seq: z.int(),
  settings: sessionSettingsSchema,
  status: storedStatusSchema,
  end_reason: z.string().nullable(),
  revision: z.int(),
  leaf_id: z.string().nullable(),
  message_count: z.int(),
  token_estimate: z.int(),
  compaction_state: z.string(),
  open_job_id: z.string().nullable(),
  usage: z.object({
    events: z.int(),
    input_tokens: z.int(),
    output_tokens: z.int(),
    list_nano: z.int(),
    billed_nano: z.int(),
    unpriced_events: z.int(),
  }),
  created_at: z.int(),
  updated_at: z.int(),
});
export type SessionFact = z.infer<typeof sessionFactSchema>;

export const usageFactSchema = z.object({
  kind: z.literal("usage"),
  seq: z.int(),
  recorded_at: z.int(),
  event: pricedUsageSchema,
});
export type UsageFact = z.infer<typeof usageFactSchema>;

export const jobFactSchema = z.object({ kind: z.literal("job"), seq: z.int(), job: compactionJobSchema });
export type JobFact = z.infer<typeof jobFactSchema>;

/** Of a longer text, a tenant's search finds the beginning: UTF-16 units. A queue message holds 128 KB. */
export const MAX_TEXT_UNITS = 12_000;

/** What a message says as of a seq, when it was new or was edited. */
export const textFactSchema = z.object({
  kind: z.literal("text"),
  seq: z.int(),
  message_seq: z.int(),
  role: roleSchema,
  created_at: z.int(),
  text: z.string(),
});
export type TextFact = z.infer<typeof textFactSchema>;

/** Messages that were deleted at a seq. */
export const removalFactSchema = z.object({
  kind: z.literal("removal"),
  seq: z.int(),
  message_seqs: z.array(z.int()),
});
export type RemovalFact = z.infer<typeof removalFactSchema>;

/** Of the messages before `first_seq` none is left, or comes back: they were deleted, or the session was cleared. */
export const clearFactSchema = z.object({ kind: z.literal("clear"), seq: z.int(), first_seq: z.int() });
export type ClearFact = z.infer<typeof clearFactSchema>;

export const factBatchSchema = z.object({
  v: z.literal(1),
  tenant_id: z.string().transform((text, ctx) => parseId("tenant", text) ?? (ctx.addIssue("not a tenant id"), z.NEVER)),
  session_id: z.string().transform((text, ctx) => parseId("session", text) ?? (ctx.addIssue("not a session id"), z.NEVER)),
  after_seq: z.int().min(0),
  to_seq: z.int().min(0),
  facts: z.array(
    z.discriminatedUnion("kind", [
      sessionFactSchema,
      usageFactSchema,
      jobFactSchema,
      textFactSchema,
      removalFactSchema,
      clearFactSchema,
    ]),
  ),
});
export type FactBatch = z.infer<typeof factBatchSchema>;

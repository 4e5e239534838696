/** A compaction job: one attempt, with retries, to replace a range by a summary. */
import * as z from "zod";
import { moneySchema } from "./money.ts";
import { retentionSchema } from "./overlay.ts";

export const jobStateSchema = z.enum(["queued", "running", "applied", "stale", "rejected", "failed", "cancelled"]);
export type JobState = z.infer<typeof jobStateSchema>;
export const OPEN_JOB_STATES: readonly JobState[] = ["queued", "running"];

export const requestCompactionSchema = z
  .strictObject({ leaf_id: z.string().min(1).max(128).optional() })
  .meta({ id: "RequestCompaction" });

export const compactionJobSchema = z
  .object({
    id: z.string(),
    session_id: z.string(),
    state: jobStateSchema,
    trigger: z.enum(["automatic", "manual"]),
    leaf_id: z.string(),
    from_id: z.string(),
    to_id: z.string(),
    messages: z.int(),
    tokens_before: z.int(),
    tokens_after: z.int().nullable(),
    attempts: z.int(),
    overlay_id: z.string().nullable(),
    model: z.string().nullable(),
    retention: retentionSchema.nullable(),
    cost: moneySchema.nullable().meta({ description: "Of its own model calls so far" }),
    error: z.object({ code: z.string(), detail: z.string() }).nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: "CompactionJob" });
export type CompactionJob = z.infer<typeof compactionJobSchema>;

/** A compaction job: one attempt, with retries, to replace a range by a summary. */
import * as z from "zod";
import { moneySchema } from "./money.ts";
import { retentionSchema, summarySchema } from "./overlay.ts";

export const jobStateSchema = z.enum(["queued", "running", "applied", "stale", "rejected", "failed", "cancelled"]);
export type JobState = z.infer<typeof jobStateSchema>;
export const OPEN_JOB_STATES: readonly JobState[] = ["queued", "running"];

const messageId = z.string().min(1).max(128);

export const jobTriggerSchema = z.enum(["automatic", "manual", "overflow", "renewal", "rerun"]).meta({
  description: "renewal: a message that a summary stands for has changed. rerun: a summary is to be written again",
});
export type JobTrigger = z.infer<typeof jobTriggerSchema>;

/** Three requests in one: a job, a plan of it, or a summary that the caller has written. */
export const requestCompactionSchema = z
  .strictObject({
    leaf_id: messageId.optional(),
    dry_run: z.boolean().optional().meta({ description: "Plan, and change nothing" }),
    summary: summarySchema.optional().meta({ description: "Stands for the messages from from_id to to_id" }),
    from_id: messageId.optional(),
    to_id: messageId.optional(),
  })
  .superRefine(({ summary, from_id: from, to_id: to, leaf_id: leaf, dry_run: dryRun }, ctx) => {
    const refuse = (name: string, message: string) => ctx.addIssue({ code: "custom", path: [name], message });
    if (summary === undefined) {
      if (from !== undefined) refuse("from_id", "goes with a summary");
      if (to !== undefined) refuse("to_id", "goes with a summary");
      return;
    }
    if (summary.trim() === "") refuse("summary", "is empty");
    if (from === undefined) refuse("from_id", "is needed with a summary");
    if (to === undefined) refuse("to_id", "is needed with a summary");
    if (leaf !== undefined) refuse("leaf_id", "does not go with a summary: its ends are named");
    if (dryRun !== undefined) refuse("dry_run", "does not go with a summary");
  })
  .meta({ id: "RequestCompaction" });

export const rerunCompactionSchema = z
  .strictObject({
    model: z.string().min(1).max(200).optional().meta({ description: "provider/model; left out: the policy's" }),
    instructions: z.string().min(1).max(4_000).optional().meta({ description: "What the summary should pay attention to" }),
  })
  .meta({ id: "RerunCompaction" });

export const compactionPlanSchema = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("skip"), reason: z.string() }),
    z.object({
      kind: z.literal("compact"),
      from_id: z.string(),
      to_id: z.string(),
      messages: z.int(),
      tokens: z.int().meta({ description: "Of the range, as the history shows it now" }),
      target_tokens: z.int().meta({ description: "Aimed size of the summary" }),
      saved_tokens: z.int().meta({ description: "In every later call, when the summary is of that size" }),
      facts: z.int().meta({ description: "Literals of the range that are at risk" }),
      overlays: z.array(z.string()).meta({ description: "Earlier summaries that it goes on from" }),
      model: z.string().nullable().meta({ description: "The policy's; null: the plane's" }),
    }),
  ])
  .meta({ id: "CompactionPlan" });
export type CompactionPlanReply = z.infer<typeof compactionPlanSchema>;

export const plannedCompactionSchema = z
  .object({
    plan: compactionPlanSchema,
    estimated_cost: moneySchema.nullable().meta({ description: "Of the calls; null: nothing to call, or no price is known" }),
  })
  .meta({ id: "PlannedCompaction" });

export const compactionJobSchema = z
  .object({
    id: z.string(),
    session_id: z.string(),
    state: jobStateSchema,
    trigger: jobTriggerSchema,
    leaf_id: z.string(),
    from_id: z.string(),
    to_id: z.string(),
    messages: z.int(),
    tokens_before: z.int(),
    tokens_after: z.int().nullable(),
    renews_overlay_id: z.string().nullable().meta({ description: "The summary that it takes the place of" }),
    replaced_by_job_id: z.string().nullable().meta({ description: "Of a stale job: the one that was planned in its place" }),
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

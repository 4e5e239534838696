/** Reports of usage and cost over time. */
import * as z from "zod";
import { moneySchema } from "./money.ts";

export const bucketSchema = z.enum(["15m", "hour", "day", "month"]);
export type Bucket = z.infer<typeof bucketSchema>;

export const REPORT_GROUPS = ["tenant", "user", "session", "model", "provider", "purpose", "token_class"] as const;
export const reportGroupSchema = z.enum(REPORT_GROUPS);
export type ReportGroup = z.infer<typeof reportGroupSchema>;

const rowKeys = {
  start: z.iso.datetime(),
  end: z.iso.datetime(),
  tenant_id: z.string().optional(),
  user_id: z.string().nullable().optional(),
  session_id: z.string().optional(),
  model: z.string().optional(),
  provider: z.string().optional(),
  purpose: z.string().optional(),
  token_class: z.string().optional(),
};

/** Events are null where rows are split by token class: one call has several classes. */
export const usageRowSchema = z.object({ ...rowKeys, events: z.int().nullable(), quantities: z.record(z.string(), z.int()) });
export const costRowSchema = z.object({
  ...rowKeys,
  events: z.int().nullable(),
  list_cost: moneySchema,
  cost: moneySchema,
  unpriced_events: z.int().nullable(),
});
export type UsageRow = z.infer<typeof usageRowSchema>;
export type CostRow = z.infer<typeof costRowSchema>;

/** Reports of usage and cost over time. */
import * as z from "zod";
import { moneySchema } from "./money.ts";

/** What rollups hold, in milliseconds: fine enough for every zone of today. */
export const QUARTER_MS = 15 * 60 * 1000;
/** No day of any zone is longer. */
export const MORE_THAN_A_DAY_MS = 48 * 60 * 60 * 1000;

/** Half-open, epoch milliseconds. */
export type Interval = { readonly start: number; readonly end: number };

export const bucketSchema = z.enum(["15m", "hour", "day", "month"]);
export type Bucket = z.infer<typeof bucketSchema>;

export const REPORT_GROUPS = ["tenant", "user", "session", "model", "provider", "purpose", "token_class"] as const;
export type ReportGroup = (typeof REPORT_GROUPS)[number];

/** What the rows of a report are split by. `tags`: keys of the events' tags. */
export type Grouping = { readonly groups: readonly ReportGroup[]; readonly tags: readonly string[] };

/** How a tag's key is named among groups. */
export const TAG_PREFIX = "tag.";

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
  tags: z.record(z.string(), z.string().nullable()).optional().meta({ description: "By key; null where a call has no such tag" }),
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

export const reportTotalsSchema = z.object({
  events: z.int(),
  quantities: z.record(z.string(), z.int()),
  list_cost: moneySchema,
  cost: moneySchema,
  unpriced_events: z.int(),
});
export type ReportTotals = z.infer<typeof reportTotalsSchema>;

/** How far a reply reaches that reads single calls. */
export const reachSchema = z.object({
  events_since: z.iso.datetime().nullable().meta({
    description: "Calls from before are archived: here are the ones since, and groups by tag reach as far. Null: all are here",
  }),
});

/** All of a report but its rows: the end of the JSON, and the last line of the NDJSON. */
export const reportFrameSchema = z.object({
  start: z.iso.datetime(),
  end: z.iso.datetime(),
  bucket: bucketSchema,
  timezone: z.string(),
  group_by: z.array(z.string()),
  totals: reportTotalsSchema,
  ...reachSchema.shape,
  as_of: z.iso.datetime().nullable().meta({
    description:
      "The newest fact that is in it; older ones of other sessions may be on their way. With `exact=1`: everything up to then is in it",
  }),
});
export type ReportFrame = z.infer<typeof reportFrameSchema>;

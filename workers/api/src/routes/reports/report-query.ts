/** What a report is asked for: a range, what of it, and how it is cut. */
import * as z from "zod";
import { sessionIdSchema, tenantIdSchema } from "@sessionplane/shared/ids";
import { usageClassSchema } from "@sessionplane/shared/price";
import { type Grouping, REPORT_GROUPS, bucketSchema } from "@sessionplane/shared/report";
import { timeZoneSchema } from "@sessionplane/shared/tenant";
import { purposeSchema } from "@sessionplane/shared/usage-event";
import { epochSchema, flagSchema } from "../../http/list-query.ts";
import type { TagFilter } from "../../reports/explain.ts";
import { parseGrouping } from "../../reports/grouping.ts";
import type { ReportFilter } from "../../reports/query.ts";

const GROUPS = `${REPORT_GROUPS.join(", ")}, tag.KEY`;
export const UNGROUPED: Grouping = { groups: [], tags: [] };

const groupBySchema = z
  .string()
  .max(2_000)
  .transform((text, ctx): Grouping => {
    const grouping = parseGrouping(text);
    if (grouping !== null) return grouping;
    ctx.addIssue({ code: "custom", message: `groups are ${GROUPS}` });
    return z.NEVER;
  });

const range = {
  start: epochSchema,
  end: epochSchema,
  tenant_id: tenantIdSchema.optional(),
  session_id: sessionIdSchema.optional(),
  user_id: z.string().max(128).optional().meta({ description: "Empty: calls that name no user" }),
  model: z.string().max(200).optional(),
  provider: z.string().max(100).optional(),
  purpose: purposeSchema.optional(),
  exact: flagSchema.meta({ description: "1: the sessions are asked first, and nothing lags" }),
};
const isForward = ({ start, end }: { readonly start: number; readonly end: number }): boolean => end > start;
const BACKWARD = { path: ["end"], message: "must be after start; the range is half-open" };

export const reportQuery = z
  .strictObject({
    ...range,
    bucket: bucketSchema.default("day"),
    group_by: groupBySchema.optional().meta({
      description: `Some of ${GROUPS}, separated by commas. In a tag's key a backslash stands before a comma or a backslash`,
    }),
    timezone: timeZoneSchema.default("UTC"),
  })
  .refine(isForward, BACKWARD);
export type ReportQuery = z.output<typeof reportQuery>;

const TAG_PARAMETER = /^tag\[(.{1,64})\]$/su;

const explained = {
  ...range,
  class: usageClassSchema.optional(),
  without_tag: z.string().min(1).max(64).optional().meta({ description: "The key of a tag that the calls have not" }),
  "tag[key]": z.string().max(128).optional(),
};

/** A report's range and filters, `class`, and `tag[KEY]=VALUE` for any key. */
export const explainQuery = z
  .object(explained)
  .catchall(z.string().max(128))
  .superRefine((parameters, ctx) => {
    const keys = Object.keys(parameters).filter((name) => !(name in explained) && !TAG_PARAMETER.test(name));
    if (keys.length > 0) ctx.addIssue({ code: "unrecognized_keys", keys, input: parameters });
  })
  .refine(isForward, BACKWARD);
export type ExplainQuery = z.output<typeof explainQuery>;

export const filterOf = (parameters: ReportQuery | ExplainQuery): ReportFilter => ({
  sessionId: parameters.session_id,
  userId: parameters.user_id,
  model: parameters.model,
  provider: parameters.provider,
  purpose: parameters.purpose,
});

export function tagsOf(parameters: ExplainQuery): TagFilter[] {
  const named = Object.entries(parameters).flatMap(([name, value]) => {
    const key = TAG_PARAMETER.exec(name)?.[1];
    return key === undefined || typeof value !== "string" ? [] : [{ key, value }];
  });
  const { without_tag: without } = parameters;
  return without === undefined ? named : [...named, { key: without, value: null }];
}

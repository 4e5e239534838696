/** Usage events that left the catalog for files in R2, and sums that are kept by day. */
import * as z from "zod";
import { instantSchema } from "./fields.ts";
import { tenantIdSchema } from "./ids.ts";
import { moneySchema } from "./money.ts";

export const archiveRequestSchema = z
  .strictObject({
    tenant_id: tenantIdSchema,
    before: instantSchema.optional().meta({ description: "What was before this instant; `LEDGER_KEPT_DAYS` ago, when left out" }),
    cursor: z.string().max(100).optional().meta({ description: "Where the step before ended" }),
  })
  .meta({ id: "ArchiveLedger" });

export const archiveStepSchema = z
  .object({
    before: z.iso.datetime(),
    files: z.int(),
    events: z.int().meta({ description: "That are in these files now, and no longer in the catalog" }),
    quarters: z.int().meta({ description: "Sums of quarters of an hour that became sums of days" }),
    waiting: z.int().meta({ description: "Sessions whose events the catalog does not have whole yet: theirs stay" }),
    has_more: z.boolean().meta({ description: "Ask again for the rest, with the cursor" }),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: "ArchiveStep" });
export type ArchiveStep = z.infer<typeof archiveStepSchema>;

export const usageArchiveSchema = z
  .object({
    id: z.string(),
    tenant_id: z.string(),
    key: z.string().meta({ description: "In R2: gzipped NDJSON, an event a line" }),
    events: z.int(),
    bytes: z.int(),
    sha256: z.string(),
    first_occurred_at: z.iso.datetime(),
    last_occurred_at: z.iso.datetime(),
    list_cost: moneySchema,
    cost: moneySchema,
    created_at: z.iso.datetime(),
  })
  .meta({ id: "UsageArchive" });
export type UsageArchive = z.infer<typeof usageArchiveSchema>;

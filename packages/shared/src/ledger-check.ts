/** The catalog's sums held against the events that they are made of. */
import * as z from "zod";
import { instantSchema } from "./fields.ts";
import { tenantIdSchema } from "./ids.ts";
import { moneySchema } from "./money.ts";
import { QUARTER_MS } from "./report.ts";

export const MAX_LEDGER_CHECK_DAYS = 31;
const MAX_MS = MAX_LEDGER_CHECK_DAYS * 24 * 60 * 60 * 1000;

const quarter = instantSchema.refine((instant) => Date.parse(instant) % QUARTER_MS === 0, "is not at a quarter of an hour");

export const ledgerRangeSchema = z
  .strictObject({ tenant_id: tenantIdSchema, start: quarter, end: quarter })
  .superRefine(({ start, end }, ctx) => {
    const length = Date.parse(end) - Date.parse(start);
    const refuse = (message: string) => ctx.addIssue({ code: "custom", path: ["end"], message });
    if (length <= 0) refuse("is not after start");
    if (length > MAX_MS) refuse(`is more than ${MAX_LEDGER_CHECK_DAYS} days after start`);
  })
  .meta({ id: "LedgerRange" });

const more = { list: moneySchema, billed: moneySchema };

const rollupDifferenceSchema = z
  .object({
    start: z.string().meta({ description: "Of the quarter of an hour" }),
    session_id: z.string(),
    user_id: z.string().nullable(),
    provider: z.string(),
    model: z.string(),
    purpose: z.string(),
    class: z.string(),
    events: z.int(),
    quantity: z.int(),
    unpriced_events: z.int(),
    ...more,
  })
  .meta({ id: "RollupDifference", description: "By how much the events are more than what reports read" });
export type RollupDifference = z.infer<typeof rollupDifferenceSchema>;

const sessionDifferenceSchema = z
  .object({ session_id: z.string(), ...more })
  .meta({ id: "SessionDifference", description: "By how much the session's totals are more than its events" });
export type SessionDifference = z.infer<typeof sessionDifferenceSchema>;

export const ledgerCheckSchema = z
  .object({
    sound: z.boolean(),
    rollups: z.array(rollupDifferenceSchema).meta({ description: "The first 100 that differ" }),
    sessions: z.array(sessionDifferenceSchema).meta({ description: "The first 100 that differ" }),
  })
  .meta({ id: "LedgerCheck" });
export type LedgerCheck = z.infer<typeof ledgerCheckSchema>;

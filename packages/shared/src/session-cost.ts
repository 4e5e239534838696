/** What a session cost, split: its own calls, its compaction, the sessions that came of it; by user and by branch. */
import * as z from "zod";
import { sessionUsageSchema } from "./session.ts";

const branchCostSchema = z.object({
  leaf_id: z.string(),
  active: z.boolean(),
  on_path: sessionUsageSchema.meta({ description: "Calls that name a message on the path to the leaf" }),
  only_here: sessionUsageSchema.meta({ description: "Of these, the ones whose message is on no other leaf's path" }),
});

/** The session's own part, from its object: exact. */
export const ownCostSchema = z.object({
  own: sessionUsageSchema.meta({ description: "The session's own calls, but for those of its compaction" }),
  compaction: sessionUsageSchema,
  by_user: z
    .array(z.object({ user_id: z.string().nullable(), own: sessionUsageSchema, compaction: sessionUsageSchema }))
    .meta({ description: "By the user whom the call named; they add up to own and compaction" }),
  by_branch: z.array(branchCostSchema).meta({ description: "One of each leaf, the newest first" }),
  has_more: z.boolean().meta({ description: "There are more branches than are shown" }),
  unattached: sessionUsageSchema.meta({ description: "Calls that name no message, or none that is there" }),
});
export type OwnCost = z.infer<typeof ownCostSchema>;

export const sessionCostSchema = ownCostSchema
  .extend({
    descendants: sessionUsageSchema
      .extend({ sessions: z.int() })
      .meta({ description: "All sessions that were forked or split from this one, or from such a one, at any depth" }),
    total: sessionUsageSchema,
    as_of: z.iso
      .datetime()
      .nullable()
      .meta({ description: "How far the descendants are known; the session's own part is exact" }),
  })
  .meta({ id: "SessionCost" });
export type SessionCost = z.infer<typeof sessionCostSchema>;

/** The receipt of a session's erasure: what is gone from where, and what stays. */
import * as z from "zod";

const count = (description: string) => z.int().min(0).meta({ description });

/** What the session's object held when it was erased. */
export const erasedContentSchema = z.object({
  messages: z.int(),
  overlays: z.int(),
  jobs: z.int(),
  blocks: z.int(),
  entries: z.int(),
  attachments: z.int(),
});
export type ErasedContent = z.infer<typeof erasedContentSchema>;

export const erasureSchema = z
  .object({
    id: z.string(),
    tenant_id: z.string(),
    session_id: z.string(),
    status: z.enum(["running", "complete"]),
    erased_at: z.iso.datetime().meta({ description: "From then on nobody reads the session" }),
    completed_at: z.iso.datetime().nullable().meta({ description: "When the last store had followed" }),
    stores: z.object({
      session: z.object({ status: z.literal("erased"), removed: erasedContentSchema }),
      objects: z.object({
        status: z.enum(["running", "erased"]),
        left: count("Attachments in R2 that are still to be deleted"),
      }),
      catalog: z
        .object({ status: z.enum(["running", "erased"]) })
        .meta({ description: "Lists, jobs, stored replies, and the tenant's search" }),
    }),
    kept: z.object({
      usage_events: count("Calls that were paid for: the ledger keeps them. They hold nothing of what was said"),
    }),
  })
  .meta({ id: "Erasure" });
export type Erasure = z.infer<typeof erasureSchema>;

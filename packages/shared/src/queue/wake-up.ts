/** `compaction-jobs`: look at this job. A wake-up, not data: the session's object has the truth. */
import * as z from "zod";
import { parseId } from "../ids.ts";

export const wakeUpSchema = z.strictObject({
  v: z.literal(1),
  tenant_id: z.string().transform((text, ctx) => parseId("tenant", text) ?? (ctx.addIssue("not a tenant id"), z.NEVER)),
  session_id: z.string().transform((text, ctx) => parseId("session", text) ?? (ctx.addIssue("not a session id"), z.NEVER)),
  job_id: z.string().transform((text, ctx) => parseId("job", text) ?? (ctx.addIssue("not a job id"), z.NEVER)),
});
export type WakeUp = z.infer<typeof wakeUpSchema>;

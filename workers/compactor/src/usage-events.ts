/** An attempt's calls of the model as usage events, each with an id that belongs to that one call. Pure. */
import type { ClaimedJob } from "@sessionplane/shared/rpc/job-rpc";
import type { NewUsageEvent } from "@sessionplane/shared/usage-event";
import type { ModelUsage } from "./summarise.ts";

const counted = ({ reported }: ModelUsage): boolean =>
  typeof reported["inputTokens"] === "number" && typeof reported["outputTokens"] === "number";

/** A server that reports nothing is counted by us, and the event says so. */
export function usageEvents(
  { job_id: jobId, fence }: Pick<ClaimedJob, "job_id" | "fence">,
  model: string,
  used: readonly ModelUsage[],
  by: "reported" | "estimated",
): NewUsageEvent[] {
  return used.map((usage, index) => {
    const event = { id: `${jobId}:${fence}:${index}`, model, purpose: "compaction" as const };
    return by === "reported" && counted(usage)
      ? { ...event, status: "final" as const, usage: usage.reported }
      : { ...event, status: "estimated" as const, usage: { ...usage.estimated } };
  });
}

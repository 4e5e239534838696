/** An attempt's calls of the model as usage events, each with an id that belongs to that one call. */
import type { ClaimedJob } from "@sessionplane/shared/rpc/job-rpc";
import type { NewUsageEvent, PricedUsage } from "@sessionplane/shared/usage-event";
import type { ModelUsage } from "./summarise.ts";

/** Of usage that no normaliser has read. */
const NOT_NORMALISED = 0;

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

/** Calls that nobody could price: counted by us, without an amount, until they are rated again. */
export function unpricedUsage(
  job: Pick<ClaimedJob, "job_id" | "fence">,
  model: string,
  used: readonly ModelUsage[],
  now: number,
): PricedUsage[] {
  return used.map(({ estimated: { input, output } }, index) => {
    const line = (name: "input" | "output", quantity: number) =>
      ({ class: name, quantity, price: null, list_nano: null, billed_nano: null }) as const;
    const id = `${job.job_id}:${job.fence}:${index}`;
    return {
      id,
      fingerprint: `unpriced ${id}`,
      provider: model.split("/")[0] ?? model,
      model: model.slice(model.indexOf("/") + 1),
      purpose: "compaction",
      status: "estimated",
      user_id: null,
      message_id: null,
      request_id: null,
      tags: {},
      occurred_at: now,
      input_tokens: input,
      output_tokens: output,
      lines: [line("input", input), line("output", output)],
      raw_usage: JSON.stringify({ input, output }),
      normalizer_version: NOT_NORMALISED,
    };
  });
}

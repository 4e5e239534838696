/** What becomes of a queue message. Pure: chance is an argument. */
import type { JobOutcome } from "./run-job.ts";

export type Settlement = { readonly kind: "ack" } | { readonly kind: "retry"; readonly delaySeconds: number };

const FIRST_DELAY_SECONDS = 2;
const MAX_DELAY_SECONDS = 300;

/** Exponential with full jitter, so that jobs that failed together do not return together. */
function delay(attempts: number, chance: number): number {
  const most = Math.min(MAX_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** Math.max(0, attempts - 1));
  return Math.max(1, Math.round(most * (0.5 + chance / 2)));
}

/**
 * `outcome` undefined: a part of the plane did not answer. A refusal is acknowledged: whoever holds the job
 * ends it, and the object's alarm brings back what a dead compactor left. `chance` is in [0, 1).
 */
export function settle(outcome: JobOutcome | undefined, attempts: number, chance: number): Settlement {
  return outcome === undefined || outcome.kind === "again"
    ? { kind: "retry", delaySeconds: delay(attempts, chance) }
    : { kind: "ack" };
}

/** What a failure means for the job, and what becomes of the queue message. Pure: chance is an argument. */
import type { JobFailure } from "@sessionplane/shared/rpc/job-rpc";
import type { JobOutcome } from "./run-job.ts";
import type { ModelFailure } from "./summarise.ts";

/** How an attempt ends that has no summary to commit. */
export type Stop = Pick<JobFailure, "outcome" | "error">;

export const stop = (outcome: Stop["outcome"], code: string, detail: string): Stop => ({ outcome, error: { code, detail } });

/** The server is busy, slow or in a conflict with itself: the same call may succeed later. */
const TRANSIENT_STATUS = new Set([408, 409, 425, 429]);
const FIRST_SERVER_ERROR = 500;

/** A wrong key, an unknown model, a prompt that the server will not take: no retry mends those. */
function stopAtStatus(status: number): Stop {
  const passes = status >= FIRST_SERVER_ERROR || TRANSIENT_STATUS.has(status);
  return stop(passes ? "retry" : "fail", `model_status_${status}`, `the model's server answered ${status}`);
}

export function stopOf(failure: ModelFailure): Stop {
  if (failure.kind === "status") return stopAtStatus(failure.status);
  if (failure.kind === "unreachable") return stop("retry", "model_unreachable", "the model's server could not be reached");
  if (failure.kind === "timeout") return stop("retry", "model_timeout", "the model did not answer in time");
  return stop("retry", "model_error", `the model's answer could not be read (${failure.error})`);
}

export type Settlement = { readonly kind: "ack" } | { readonly kind: "retry"; readonly delaySeconds: number };

const FIRST_DELAY_SECONDS = 2;
const MAX_DELAY_SECONDS = 300;

/** Exponential, half of it by chance, so that jobs that failed together do not return together. */
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

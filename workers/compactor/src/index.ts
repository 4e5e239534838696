/** The compactor: a consumer of wake-ups. Never throws: a throw would bring back what is acknowledged. */
import { type WakeUp, wakeUpSchema } from "@sessionplane/shared/queue/wake-up";
import type { CompactorEnv } from "./env.ts";
import { logError, logInfo } from "./log.ts";
import { DEFAULT_MODEL, findModel } from "./models.ts";
import { type CompactionDeps, type JobOutcome, runJob } from "./run-job.ts";
import { sessionOf } from "./session-client.ts";
import { settle } from "./settle.ts";
import { callModel } from "./summarise.ts";

const DEAD_QUEUE = "compaction-jobs-dead";
const DEAD_LETTER_DELAY_SECONDS = 5;

function depsFor(env: CompactorEnv, { tenant_id: tenantId, session_id: sessionId, job_id: jobId }: WakeUp): CompactionDeps {
  const session = () => sessionOf(env.SESSION, tenantId, sessionId);
  return {
    claim: () => session().claimJob(jobId),
    renew: (fence) => session().renewLease(jobId, fence),
    record: (usage) => session().recordJobUsage(jobId, usage),
    readRange: (fence, afterSeq) => session().readJobRange(jobId, fence, afterSeq),
    commit: (fence, commit) => session().commitJob(jobId, fence, commit),
    fail: (fence, failure) => session().failJob(jobId, fence, failure),
    model: (asked) => {
      const id = asked ?? (env.COMPACTION_MODEL || DEFAULT_MODEL);
      const model = findModel(env, id);
      return { id, call: model === null ? null : (call) => callModel(model, call) };
    },
    price: (events) => env.CATALOG.priceUsage(tenantId, events),
    warn: (event, error) => logError(event, error, { tenant_id: tenantId, session_id: sessionId, job_id: jobId }),
    nonce: () => crypto.randomUUID(),
    now: () => Date.now(),
    pause: (ms) => new Promise((done) => setTimeout(done, ms)),
  };
}

/** Ids alone: a log line never carries what was said. */
const idsOf = ({ tenant_id, session_id, job_id }: WakeUp) => ({ tenant_id, session_id, job_id });

async function work(env: CompactorEnv, wakeUp: WakeUp): Promise<JobOutcome | undefined> {
  try {
    const outcome = await runJob(depsFor(env, wakeUp));
    const detail = outcome.kind === "ended" ? outcome.state : outcome.code;
    logInfo("job", { ...idsOf(wakeUp), outcome: outcome.kind, detail });
    return outcome;
  } catch (error) {
    logError("job_interrupted", error, idsOf(wakeUp));
    return undefined;
  }
}

/** The queue has given up on the wake-up: the job ends as failed, and can be asked for again. */
async function bury(env: CompactorEnv, wakeUp: WakeUp): Promise<boolean> {
  try {
    await sessionOf(env.SESSION, wakeUp.tenant_id, wakeUp.session_id).deadLetterJob(wakeUp.job_id);
    return true;
  } catch (error) {
    logError("dead_letter_failed", error, idsOf(wakeUp));
    return false;
  }
}

async function handle(env: CompactorEnv, queue: string, message: Message): Promise<void> {
  const parsed = wakeUpSchema.safeParse(message.body);
  if (!parsed.success) {
    // Not ours, or of a version that is gone: the object wakes us again in the present one.
    logError("wake_up_refused", parsed.error, { message_id: message.id });
    return message.ack();
  }
  if (queue === DEAD_QUEUE)
    return (await bury(env, parsed.data)) ? message.ack() : message.retry({ delaySeconds: DEAD_LETTER_DELAY_SECONDS });
  const settlement = settle(await work(env, parsed.data), message.attempts, Math.random());
  return settlement.kind === "ack" ? message.ack() : message.retry({ delaySeconds: settlement.delaySeconds });
}

export default {
  async queue(batch, env) {
    await Promise.all(batch.messages.map((message) => handle(env, batch.queue, message)));
  },
} satisfies ExportedHandler<CompactorEnv>;

/** The worker's bindings, typed. */
import type { FactBatch } from "@sessionplane/shared/queue/fact";
import type { WakeUp } from "@sessionplane/shared/queue/wake-up";

export interface SessionEnv extends Omit<Env, "CATALOG_EVENTS" | "COMPACTION_JOBS"> {
  CATALOG_EVENTS: Queue<FactBatch>;
  COMPACTION_JOBS: Queue<WakeUp>;
}

/** What a session's object offers about its ledger: recording calls, correcting them, adding them up. */
import type { ExplainedCost } from "../explained-cost.ts";
import type { Corrected } from "../priced-usage.ts";
import type { Problem } from "../problem.ts";
import type { FactBatch } from "../queue/fact.ts";
import type { Result } from "../result.ts";
import type { SessionUsage } from "../session.ts";
import type { OwnCost } from "../session-cost.ts";
import type { ExplainedUsage, PricedUsage, RecordedUsage, UsageAdjustment, UsageEvent } from "../usage-event.ts";
import type { Idempotency, SeqPage, SeqQuery, Written } from "./session-rpc.ts";

/** `to`: what holds of the event from now on. `id`: of the correction. */
export type AdjustUsage = {
  readonly event_id: string;
  readonly id: string;
  readonly reason: string;
  readonly to: Corrected;
  /** How many corrections of it the caller knows: refused when there are others. */
  readonly corrections?: number;
  readonly idempotency: Idempotency;
};
/** Null: it says that already. */
export type AdjustedUsage = { readonly changed: boolean; readonly adjustment: UsageAdjustment | null };

/** Stretches of the log that the catalog has not confirmed. `next`: go on after this place; null when that is all. */
export type PendingFacts = { readonly batches: readonly FactBatch[]; readonly next: number | null };

export type UsageReading = { readonly usage: SessionUsage; readonly as_of: string };

export interface UsageRpc {
  /** All in one transaction; per event created, duplicate or conflict. */
  recordUsage(input: {
    events: readonly PricedUsage[];
    idempotency?: Idempotency;
  }): Promise<Result<Written<readonly RecordedUsage[]>, Problem>>;
  readUsage(): Promise<Result<UsageReading, Problem>>;
  /** A correction: the event itself stays as it is. */
  adjustUsage(input: AdjustUsage): Promise<Result<Written<AdjustedUsage>, Problem>>;
  explainUsageEvent(id: string): Promise<Result<ExplainedUsage, Problem>>;
  listUsageEvents(query: SeqQuery): Promise<Result<SeqPage<UsageEvent>, Problem>>;
  /** By user and by branch. */
  readCost(): Promise<Result<OwnCost, Problem>>;
  /** By model, class and price. */
  explainUsage(): Promise<Result<ExplainedCost, Problem>>;

  /** Changes nothing: they are sent all the same, and applying them twice is applying them once. */
  pendingFacts(query: { after?: number }): Promise<Result<PendingFacts, Problem>>;
}

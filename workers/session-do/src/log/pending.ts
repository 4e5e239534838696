/** What the catalog has not confirmed, for a reader who can't wait for the queue. Reads only: the outbox still sends it. */
import type { PendingFacts } from "@sessionplane/shared/rpc/usage-rpc";
import type { SessionStore } from "../session-store.ts";
import { nextBatch } from "./facts.ts";

/** Of at most about 100 KB each. */
const MAX_BATCHES = 4;

export function pendingFacts(store: SessionStore, after: number | undefined): PendingFacts {
  const batches = [];
  let at: number | null = Math.max(after ?? 0, store.row.projected_seq);
  while (at !== null && batches.length < MAX_BATCHES) {
    const batch = nextBatch(store, at);
    if (batch !== null) batches.push(batch);
    at = batch === null || batch.to_seq >= store.sequence.head ? null : batch.to_seq;
  }
  return { batches, next: at };
}

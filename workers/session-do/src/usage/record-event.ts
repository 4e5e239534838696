/** One event into the session's ledger: every road to it but a correction's, which keeps what its call says. */
import type { PricedUsage, RecordedUsage } from "@sessionplane/shared/usage-event";
import type { SessionStore } from "../session-store.ts";

/**
 * An event that names no user is of the session's user as it is now. The fingerprint stays that of what the caller
 * sent: the same event again is the same one, whoever the user is by then.
 */
export const recordEvent = (store: SessionStore, event: PricedUsage, jobId: string | null, now: number): RecordedUsage =>
  store.ledger.record({ ...event, user_id: event.user_id ?? store.row.settings.user_id }, jobId, now);

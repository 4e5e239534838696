/**
 * The erasure of a session. What was said goes in one transaction; what was spent stays, as the ledger of a call
 * that was made. The object stays too, so that nothing late brings the session back.
 */
import { type Erasure, erasedContentSchema } from "@sessionplane/shared/erasure";
import { formatInstant, formatInstantOrNull } from "@sessionplane/shared/fields";
import { NOT_FOUND, type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { NO_SETTINGS } from "@sessionplane/shared/session";
import { isErased } from "./session-row.ts";
import type { SessionStore } from "./session-store.ts";
import { STALE } from "./settings.ts";

/** `media_trash`: what is in R2 still has to go. `tree`: one row, of places alone. `idempotency`: the ledger's keys. */
const KEPT = ["session", "usage_events", "erasure", "idempotency", "media_trash", "tree", "_migrations"];

function receiptOf(store: SessionStore): Erasure | null {
  const row = isErased(store) ? store.erasure.find() : null;
  if (row === null) return null;
  const { tenant_id, session_id, seq, projected_seq: projected } = store.row;
  const isDone = row.completed_at !== null;
  const left = store.media.countDiscards();
  return {
    id: row.id,
    tenant_id,
    session_id,
    status: isDone ? "complete" : "running",
    erased_at: formatInstant(row.erased_at),
    completed_at: formatInstantOrNull(row.completed_at),
    stores: {
      session: { status: "erased", removed: erasedContentSchema.parse(JSON.parse(row.removed)) },
      objects: { status: left === 0 ? "erased" : "running", left },
      catalog: { status: isDone || projected >= seq ? "erased" : "running" },
    },
    kept: { usage_events: store.ledger.totals().total_events },
  };
}

/** What is said of an erased session to whoever asks for anything in it; null when it is there. */
export function erasedProblem(store: SessionStore): Problem | null {
  const row = isErased(store) ? store.erasure.find() : null;
  if (row === null) return null;
  const at = formatInstant(row.erased_at);
  return problem("erased", `The session was erased at ${at}.`, { fields: { erasure_id: row.id, erased_at: at } });
}

function empty(store: SessionStore, now: number): void {
  store.erasure.begin(store.erasure.countContent(), now);
  // A fact of its own: the tenant's search hears that no message is left.
  store.messages.clear(now);
  store.media.clear(now);
  store.keys.erase();
  store.emptyAllBut(KEPT);
  const { revision } = store.row;
  store.save({
    ...{ settings: NO_SETTINGS, status: "erased", end_reason: null, failures: 0, calibration: 1 },
    ...{ revision: revision + 1, seq: store.sequence.next(), updated_at: now },
  });
}

/** A second call changes nothing. */
export function eraseSession(store: SessionStore, ifMatch: number | undefined, now: number): Result<Erasure, Problem> {
  if (!isErased(store)) {
    if (ifMatch !== undefined && ifMatch !== store.row.revision) return err(STALE);
    store.atomically(() => empty(store, now));
  }
  return readErasure(store);
}

export function readErasure(store: SessionStore): Result<Erasure, Problem> {
  const receipt = receiptOf(store);
  return receipt === null ? err(NOT_FOUND) : ok(receipt);
}

/** Called when a store has followed. Once complete it stays so. */
export function settleErasure(store: SessionStore, now: number): void {
  const receipt = receiptOf(store);
  if (receipt?.status !== "running") return;
  const { objects, catalog } = receipt.stores;
  if (objects.status === "erased" && catalog.status === "erased") store.erasure.complete(now);
}

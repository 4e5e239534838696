/** `recordUsage`: every event in one transaction, each answered for. An ended session still takes usage. */
import { NOT_FOUND, type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { Idempotency, SeqPage, SeqQuery, Written } from "@sessionplane/shared/rpc/session-rpc";
import type { AdjustUsage, AdjustedUsage } from "@sessionplane/shared/rpc/usage-rpc";
import {
  type ExplainedUsage,
  type PricedUsage,
  type RecordedUsage,
  type UsageEvent,
  pricedUsageSchema,
} from "@sessionplane/shared/usage-event";
import { calibrationFactor } from "@sessionplane/engine/tokens/calibrate";
import { adjust, explainUsage, recorded, toAdjustment, toUsageEvent } from "@sessionplane/shared/priced-usage";
import { seqPage } from "../seq-page.ts";
import type { SessionStore } from "../session-store.ts";
import { toStored } from "./ledger.ts";
import { recordEvent } from "./record-event.ts";

const OVERFLOW = problem("amount_overflow", "With these events a total of the session would be too large to be exact.");

type Input = { readonly events: readonly PricedUsage[]; readonly idempotency?: Idempotency };
/** Smaller changes are not worth a row. */
const MIN_CHANGE = 0.02;

/** The history that a call was given: up to the reply that it made, or to the message that it answered. */
function contextOf(store: SessionStore, event: PricedUsage): number {
  const named = event.message_id === null ? null : store.messages.seqOf(event.message_id);
  const seq = named ?? store.messages.activeLeaf();
  const isReply = store.messages.meta(seq)?.role === "assistant";
  return isReply ? (store.messages.parentOf(seq)?.seq ?? 0) : seq;
}

/** Takes over what the newest real call says of the session's estimate. */
function calibrate(store: SessionStore, events: readonly PricedUsage[], reply: readonly RecordedUsage[]): void {
  const event = events.findLast((one, index) => one.purpose === "turn" && reply[index]?.status === "created");
  if (event === undefined) return;
  const sent = store.historyTokens(contextOf(store, event)) + store.prompt.tokens();
  const factor = calibrationFactor(event.input_tokens, sent);
  if (factor === null || Math.abs(factor - store.row.calibration) < MIN_CHANGE) return;
  store.save({ calibration: factor });
}

const CORRECTED = problem("precondition_failed", "The event has been corrected since it was looked at.");

type Receipt = (readonly [id: string, status: RecordedUsage["status"]])[];

const replay = (store: SessionStore, receipt: string): RecordedUsage[] =>
  (JSON.parse(receipt) as Receipt).map(([id, status]) => {
    const event = store.ledger.find(id);
    if (event === null) throw new Error("a usage event that was there is gone");
    return recorded(event, status);
  });

export function recordUsage(store: SessionStore, input: Input, now: number): Result<Written<readonly RecordedUsage[]>, Problem> {
  const effect = () => {
    if (!store.ledger.holds(input.events)) return err(OVERFLOW);
    const reply = input.events.map((event) => recordEvent(store, event, null, now));
    calibrate(store, input.events, reply);
    const receipt: Receipt = reply.map(({ id, status }) => [id, status]);
    return ok({ reply, receipt: JSON.stringify(receipt) });
  };
  return store.atomically(() => store.ledgerKeys.once(input.idempotency, now, effect, (receipt) => replay(store, receipt)));
}

export const listUsageEvents = (store: SessionStore, { limit, before_seq: before }: SeqQuery): SeqPage<UsageEvent> =>
  seqPage(store.ledger.list(limit, before), limit, (row) =>
    toUsageEvent(store.row.session_id, pricedUsageSchema.parse(JSON.parse(row.event)), row.recorded_at),
  );

export function explainEvent(store: SessionStore, id: string): Result<ExplainedUsage, Problem> {
  const row = store.ledger.row(id);
  if (row === null) return err(NOT_FOUND);
  return ok(explainUsage(store.row.session_id, toStored(row), store.ledger.adjustmentsOf(id)));
}

/** Takes back what holds of an event and posts what holds now. Unchanged: what it says already. */
export function adjustEvent(store: SessionStore, input: AdjustUsage, now: number): Result<Written<AdjustedUsage>, Problem> {
  const show = (id: string | null): AdjustedUsage => {
    const row = id === null ? null : store.ledger.row(id);
    return { changed: row !== null, adjustment: row === null ? null : toAdjustment(toStored(row)) };
  };
  const effect = () => {
    const row = store.ledger.row(input.event_id);
    const event = row === null ? null : toStored(row).event;
    if (event === null || event.adjustment !== undefined) return err(NOT_FOUND);
    const before = store.ledger.adjustmentsOf(event.id).map((one) => one.event);
    if (input.corrections !== undefined && input.corrections !== before.length) return err(CORRECTED);
    const adjustment = adjust(event, before, input.to, { id: input.id, reason: input.reason });
    if (adjustment === null) return ok({ reply: show(null), receipt: "" });
    if (!store.ledger.holds([adjustment])) return err(OVERFLOW);
    store.ledger.record(adjustment, null, now);
    return ok({ reply: show(input.id), receipt: input.id });
  };
  return store.atomically(() =>
    store.ledgerKeys.once(input.idempotency, now, effect, (receipt) => show(receipt === "" ? null : receipt)),
  );
}

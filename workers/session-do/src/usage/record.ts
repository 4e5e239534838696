/** `recordUsage`: every event in one transaction, each answered for. An ended session still takes usage. */
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { Idempotency, Written } from "@sessionplane/shared/rpc/session-rpc";
import type { PricedUsage, RecordedUsage } from "@sessionplane/shared/usage-event";
import type { SessionStore } from "../session-store.ts";
import { recorded } from "./ledger.ts";

const OVERFLOW = problem("amount_overflow", "With these events a total of the session would be too large to be exact.");

type Input = { readonly events: readonly PricedUsage[]; readonly idempotency?: Idempotency };
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
    const reply = input.events.map((event) => store.ledger.record(event, null, now));
    const receipt: Receipt = reply.map(({ id, status }) => [id, status]);
    return ok({ reply, receipt: JSON.stringify(receipt) });
  };
  return store.atomically(() => store.keys.once(input.idempotency, now, effect, (receipt) => replay(store, receipt)));
}

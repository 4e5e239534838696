/** Usage as sessions tell it: calls of many sessions over many days, with two lines each. The same in every run. */
import type { SessionId, TenantId } from "@sessionplane/shared/ids";
import type { FactBatch, UsageFact } from "@sessionplane/shared/queue/fact";

/** What one queue message holds. */
export const EVENTS_A_MESSAGE = 100;
export const DAYS = 60;

const FIRST = Date.UTC(2026, 5, 1);
const SPAN_MS = DAYS * 86_400_000;
export const RANGE = { start: new Date(FIRST).toISOString(), end: new Date(FIRST + SPAN_MS).toISOString() };

const USERS = 7;
const MODELS = 4;

const price = (name: "input" | "output") => ({
  ...{
    id: "prc_01m8ngf3edfk7twrevw9bs49r8",
    class: name,
    femto_usd_per_token: 2_500_000_000,
    effective_from: 0,
    source: "bench",
  },
});

function factOf(seq: number, at: number): UsageFact {
  const line = (name: "input" | "output", quantity: number) => {
    const nano = quantity * 2_500;
    return { class: name, quantity, price: price(name), list_nano: nano, billed_nano: nano };
  };
  return {
    kind: "usage",
    seq,
    recorded_at: at,
    event: {
      ...{ id: `use_${String(seq).padStart(22, "0")}`, fingerprint: "f".repeat(64) },
      ...{ provider: "openai", model: `model-${seq % MODELS}`, purpose: "turn", status: "final", user_id: `user-${seq % USERS}` },
      ...{ message_id: `msg_${seq}`, request_id: null, tags: {}, occurred_at: at, input_tokens: 900, output_tokens: 100 },
      lines: [line("input", 900), line("output", 100)],
      raw_usage: '{"inputTokens":900,"outputTokens":100,"totalTokens":1000}',
      ...{ normalizer_version: 1, markup_bps: 0 },
    },
  };
}

/** The events with these numbers of all: event `n` is of session `n mod sessions`. */
export type Stretch = {
  readonly tenant: TenantId;
  readonly sessions: readonly SessionId[];
  readonly from: number;
  readonly count: number;
  readonly total: number;
};

/** As queue messages; each of one session. */
export function batchesOf({ tenant, sessions, from, count, total }: Stretch): FactBatch[] {
  const batches: FactBatch[] = [];
  for (let at = from; at < from + count; at += EVENTS_A_MESSAGE) {
    const session = sessions[(at / EVENTS_A_MESSAGE) % sessions.length];
    if (session === undefined) throw new Error("there is no session");
    // A session's numbers rise with its messages.
    const before = Math.floor(at / EVENTS_A_MESSAGE / sessions.length) * EVENTS_A_MESSAGE;
    const facts = Array.from({ length: EVENTS_A_MESSAGE }, (_, index) =>
      factOf(before + index + 1, FIRST + Math.floor(((at + index) / total) * SPAN_MS)),
    );
    batches.push({ v: 1, tenant_id: tenant, session_id: session, after_seq: before, to_seq: before + EVENTS_A_MESSAGE, facts });
  }
  return batches;
}

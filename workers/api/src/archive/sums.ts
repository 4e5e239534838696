/** Sums of usage as `usage_rollups` has them, made of events one by one. Pure. */
import { isUnpriced } from "@sessionplane/shared/priced-usage";
import { QUARTER_MS } from "@sessionplane/shared/report";
import type { KeyedSum, Sum } from "../catalog/rollups.ts";
import type { ArchivedEvent } from "./usage-file.ts";

const KEYS = ["bucket", "session_id", "user_id", "provider", "model", "purpose", "class"] as const;
const AMOUNTS = ["events", "quantity", "list_nano", "billed_nano", "unpriced_events"] as const;

export class Sums {
  readonly #sums = new Map<string, KeyedSum>();

  /** `sign`: -1 takes away. */
  add(one: KeyedSum, sign: 1 | -1 = 1): void {
    const key = JSON.stringify(KEYS.map((name) => one[name]));
    const before = this.#sums.get(key);
    const sum = Object.fromEntries(AMOUNTS.map((name) => [name, (before?.[name] ?? 0) + sign * one[name]]));
    this.#sums.set(key, { ...one, ...(sum as Sum) });
  }

  all(): KeyedSum[] {
    return [...this.#sums.values()];
  }

  /** What does not come to nothing. */
  differences(): KeyedSum[] {
    return this.all().filter((sum) => AMOUNTS.some((name) => sum[name] !== 0));
  }
}

/** An event's lines. It is counted on its first one; a correction is no call. */
export function sumsOfEvent({ session_id, event }: ArchivedEvent): KeyedSum[] {
  const unpriced = event.adjustment?.unpriced_change ?? Number(isUnpriced(event));
  return event.lines.map((line, index) => ({
    bucket: Math.floor(event.occurred_at / QUARTER_MS) * QUARTER_MS,
    session_id,
    user_id: event.user_id ?? "",
    provider: event.provider,
    model: event.model,
    purpose: event.purpose,
    class: line.class,
    events: index === 0 && event.adjustment === undefined ? 1 : 0,
    quantity: line.quantity,
    list_nano: line.list_nano ?? 0,
    billed_nano: line.billed_nano ?? 0,
    unpriced_events: index === 0 ? unpriced : 0,
  }));
}

/** The ledger added up: by user, by message, by price. Reads only. Running totals tell what each event changed. */
import { type LineSum, lineSumSchema, lineSums } from "@sessionplane/shared/explained-cost";
import { formatMoney } from "@sessionplane/shared/money";
import type { SessionUsage } from "@sessionplane/shared/session";

/** Integers; amounts in nano-USD. No part of a session's calls is more than all of them, whose sums are kept exact. */
export type Spent = {
  readonly events: number;
  readonly input: number;
  readonly output: number;
  readonly list: number;
  readonly billed: number;
  readonly unpriced: number;
};

const FIELDS = ["events", "input", "output", "list", "billed", "unpriced"] as const;
export const NOTHING_SPENT: Spent = { events: 0, input: 0, output: 0, list: 0, billed: 0, unpriced: 0 };

const combined = (a: Spent, b: Spent, sign: 1 | -1): Spent => ({
  events: a.events + sign * b.events,
  input: a.input + sign * b.input,
  output: a.output + sign * b.output,
  list: a.list + sign * b.list,
  billed: a.billed + sign * b.billed,
  unpriced: a.unpriced + sign * b.unpriced,
});
export const plus = (a: Spent, b: Spent): Spent => combined(a, b, 1);
export const minus = (a: Spent, b: Spent): Spent => combined(a, b, -1);

export const toUsage = ({ events, input, output, list, billed, unpriced }: Spent): SessionUsage => ({
  ...{ events, input_tokens: input, output_tokens: output },
  ...{ cost: formatMoney(billed), list_cost: formatMoney(list), unpriced_events: unpriced },
});

const CHANGES = FIELDS.map((name) => `total_${name} - lag(total_${name}, 1, 0) OVER (ORDER BY seq) AS ${name}`).join(", ");
const TOLD = `WITH told AS (SELECT seq, id, event, adjusts, ${CHANGES} FROM usage_events)`;
const SUMS = FIELDS.map((name) => `sum(told.${name}) AS ${name}`).join(", ");

const BY_USER = `${TOLD}
SELECT told.event->>'$.user_id' AS user, told.event->>'$.purpose' = 'compaction' AS compaction, ${SUMS} FROM told GROUP BY 1, 2 ORDER BY 1`;
const BY_MESSAGE = `${TOLD}
SELECT messages.seq AS seq, ${SUMS} FROM told LEFT JOIN messages ON messages.id = told.event->>'$.message_id' GROUP BY 1 ORDER BY 1`;
const CALLS = "(SELECT event, id AS place, events AS calls, unpriced FROM told)";
const BY_PRICE = `${TOLD} ${lineSums(CALLS, "true")} LIMIT ?`;

export type SpentByUser = Spent & { readonly user: string | null; readonly compaction: number };
/** `seq`: the message's; null for calls that name none, or none that is there. */
export type SpentAtMessage = Spent & { readonly seq: number | null };

export class LedgerSums {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  byUser(): SpentByUser[] {
    return this.#sql.exec<SpentByUser>(BY_USER).toArray();
  }

  /** In the order of the log, what is at no message first. */
  byMessage(): SpentAtMessage[] {
    return this.#sql.exec<SpentAtMessage>(BY_MESSAGE).toArray();
  }

  byPrice(limit: number): LineSum[] {
    return this.#sql
      .exec(BY_PRICE, limit)
      .toArray()
      .map((row) => lineSumSchema.parse(row));
  }
}

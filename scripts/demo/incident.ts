/** An incident at night: metrics, traces, a rollback, and a branch that asks before it. */
import { tell } from "./tell.ts";

const minutes = (from: number, count: number, row: (minute: string, index: number) => object): object[] =>
  Array.from({ length: count }, (_, index) => row(`2026-03-14T02:${String(from + index).padStart(2, "0")}:00Z`, index));

export const incident = tell("incident-4471", "oncall-ida", [
  {
    by: "user",
    says: "Pager went off at 02:10 for checkout-api: p99 latency above 4 seconds. Incident INC-4471 is open. What do we know?",
  },
  {
    calls: "query_metrics",
    with: { service: "checkout-api", metric: "latency_p99_ms", from: "2026-03-14T02:00:00Z", step: "1m" },
    gets: minutes(0, 50, (at, index) => ({
      at,
      latency_p99_ms: index < 8 ? 310 + index * 7 : 3_900 + index * 113,
      requests: 1_820 - index * 21,
      errors: index < 8 ? 2 : 140 + index * 9,
    })),
    concludes:
      "p99 was flat at about 310 ms until 02:07, then rose to 4.8 s at 02:08 and went on climbing. Errors rose from 2 a minute to more than 200. Traffic fell slightly, so this is not a surge.",
  },
  { by: "user", says: "Did anything ship around 02:05? I think Tomas mentioned a release of the pricing service last night." },
  {
    calls: "list_deployments",
    with: { since: "2026-03-14T00:00:00Z" },
    gets: [
      {
        id: "dep-9917",
        service: "pricing",
        version: "v5.12.0",
        commit: "9c41e7a",
        by: "tomas.vrana",
        at: "2026-03-14T02:06:41Z",
        status: "succeeded",
      },
      {
        id: "dep-9916",
        service: "search",
        version: "v2.3.9",
        commit: "71bd02f",
        by: "release-bot",
        at: "2026-03-14T00:31:05Z",
        status: "succeeded",
      },
      {
        id: "dep-9915",
        service: "checkout-api",
        version: "v8.0.3",
        commit: "e05c6d1",
        by: "ida.novak",
        at: "2026-03-13T16:02:19Z",
        status: "succeeded",
      },
    ],
    concludes:
      "pricing v5.12.0 (deployment dep-9917, commit 9c41e7a) finished at 02:06:41, about a minute before the first slow requests. checkout-api itself has not changed since 16:02 yesterday.",
  },
  { by: "user", says: "That fits. Can you see where checkout spends the time? Take a few slow traces." },
  {
    calls: "fetch_traces",
    with: { service: "checkout-api", min_duration_ms: 4000, limit: 30 },
    gets: Array.from({ length: 30 }, (_, index) => ({
      trace_id: `7f3a${(0x51c0 + index * 37).toString(16)}`,
      duration_ms: 4_120 + index * 61,
      slowest_span: "pricing.GetQuotes",
      span_ms: 3_870 + index * 58,
      calls: 41 + index,
      pool_wait_ms: 3_402 + index * 49,
      region: index % 3 === 0 ? "eu-central" : "eu-west",
    })),
    concludes:
      "Every slow trace waits in pricing.GetQuotes. Each checkout now makes 41 to 54 calls to pricing where it used to make one, and nearly all the time is spent waiting for a connection from the pool of 20.",
  },
  {
    by: "user",
    says: "So v5.12.0 dropped the batch endpoint? Check the change log, and tell me whether a rollback is safe with the schema change in it.",
  },
  {
    calls: "read_changelog",
    with: { service: "pricing", from: "v5.11.4", to: "v5.12.0" },
    gets: {
      version: "v5.12.0",
      entries: [
        { pull: 2208, title: "Quote one item a request; remove GetQuotesBatch", author: "tomas.vrana", risk: "medium" },
        {
          pull: 2211,
          title: "Add column quotes.valid_until, nullable",
          author: "mei.tanaka",
          risk: "low",
          migration: "0047_valid_until.sql",
          reversible: true,
        },
        { pull: 2213, title: "Raise the cache's time to live from 30 s to 300 s", author: "mei.tanaka", risk: "low" },
      ],
    },
    concludes:
      "Yes: pull request 2208 removed GetQuotesBatch, and checkout falls back to one call per item. Migration 0047_valid_until.sql only adds a nullable column, so v5.11.4 runs on the new schema. A rollback is safe.",
  },
  {
    by: "user",
    id: "decide",
    says: "Roll pricing back to v5.11.4 and keep the migration. Note in INC-4471 that I approved it at 02:26.",
  },
  {
    calls: "rollback",
    with: { service: "pricing", to: "v5.11.4", keep_migrations: true, approved_by: "ida.novak", incident: "INC-4471" },
    gets: {
      deployment: "dep-9918",
      status: "succeeded",
      finished_at: "2026-03-14T02:28:55Z",
      pods: Array.from({ length: 8 }, (_, index) => ({ pod: `pricing-6d5f-${index}`, ready: true, restarted: 0 })),
    },
    concludes:
      "pricing is back on v5.11.4 (dep-9918, finished 02:28:55), all 8 pods ready, migration 0047 kept. I noted your approval of 02:26 in INC-4471.",
  },
  {
    calls: "query_metrics",
    with: { service: "checkout-api", metric: "latency_p99_ms", from: "2026-03-14T02:25:00Z", step: "1m" },
    gets: minutes(25, 34, (at, index) => ({
      at,
      latency_p99_ms: index < 4 ? 5_100 - index * 320 : 318 + index,
      requests: 1_702 + index * 13,
      errors: index < 4 ? 210 - index * 40 : 1,
    })),
    concludes: "p99 is at 322 ms since 02:29 and errors are at one a minute. The customers' side has recovered.",
  },
  { by: "user", says: "Good. How many orders failed in between? Finance will ask at 09:00." },
  {
    calls: "count_orders",
    with: { from: "2026-03-14T02:07:00Z", to: "2026-03-14T02:29:00Z", status: "failed" },
    gets: {
      failed: 1_337,
      retried_successfully: 1_102,
      lost: 235,
      value_lost: { amount: "18423.50", currency: "EUR" },
      largest: "ord_88121",
      by_country: { CZ: 61, DE: 94, AT: 37, PL: 43 },
    },
    concludes:
      "1,337 orders failed, 1,102 of them went through on a retry. 235 were lost, worth EUR 18,423.50; the largest is ord_88121. By country: CZ 61, DE 94, AT 37, PL 43.",
  },
  {
    by: "user",
    says: "Draft the summary for the status page, two sentences. And who owns the follow-up to bring the batch endpoint back?",
  },
  {
    by: "assistant",
    says: "Draft: 'Between 02:07 and 02:29 UTC on 14 March 2026 checkout was slow and some orders failed after a release of our pricing service. The release was rolled back and checkout has worked normally since 02:29.' The follow-up FU-318, to restore GetQuotesBatch before v5.12.1, is with tomas.vrana, due 2026-03-18.",
  },
  {
    by: "user",
    below: "decide",
    says: "Actually, before we roll back: would raising the connection pool from 20 to 100 be enough?",
  },
  {
    by: "assistant",
    says: "Not for long. At 50 calls a checkout and 1,700 checkouts a minute pricing would get about 1,400 calls a second; its database allows 300 connections and 8 pods with 100 each would ask for 800. The rollback is the safer way.",
  },
]);

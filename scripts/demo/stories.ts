/**
 * The demo's own conversations: an incident, a journey, a data migration. Each has tool
 * calls, and is long enough to be compacted under the demo's policy; two of them branch.
 */
import type { Message } from "@sessionplane/shared/message";
import type { Append, Conversation } from "./conversation.ts";

type Line =
  | { readonly by: "user" | "assistant"; readonly says: string; readonly below?: string; readonly id?: string }
  | { readonly calls: string; readonly with: unknown; readonly gets: unknown; readonly then: string };

/** Lines as appends; ids are the story's name and a number, unless a line names its own for a branch. */
function tell(name: string, userId: string, lines: readonly Line[]): Conversation {
  const appends = lines.map((line, index): Append => {
    const id = "id" in line && line.id !== undefined ? `${name}-${line.id}` : `${name}-${index}`;
    if ("calls" in line) {
      const tool = {
        type: "dynamic-tool",
        toolName: line.calls,
        toolCallId: `${id}-call`,
        state: "output-available",
        input: line.with,
        output: line.gets,
      };
      return { message: { id, role: "assistant", parts: [tool, { type: "text", text: line.then }] } };
    }
    const message: Message = { id, role: line.by, parts: [{ type: "text", text: line.says }] };
    return line.below === undefined ? { message } : { message, parentId: `${name}-${line.below}` };
  });
  return { name, userId, appends };
}

const minutes = (from: number, count: number, row: (minute: string, index: number) => object): object[] =>
  Array.from({ length: count }, (_, index) => row(`2026-03-14T02:${String(from + index).padStart(2, "0")}:00Z`, index));

const incident = tell("incident-4471", "oncall-ida", [
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
    then: "p99 was flat at about 310 ms until 02:07, then rose to 4.8 s at 02:08 and went on climbing. Errors rose from 2 a minute to more than 200. Traffic fell slightly, so this is not a surge.",
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
    then: "pricing v5.12.0 (deployment dep-9917, commit 9c41e7a) finished at 02:06:41, about a minute before the first slow requests. checkout-api itself has not changed since 16:02 yesterday.",
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
    then: "Every slow trace waits in pricing.GetQuotes. Each checkout now makes 41 to 54 calls to pricing where it used to make one, and nearly all the time is spent waiting for a connection from the pool of 20.",
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
    then: "Yes: pull request 2208 removed GetQuotesBatch, and checkout falls back to one call per item. Migration 0047_valid_until.sql only adds a nullable column, so v5.11.4 runs on the new schema. A rollback is safe.",
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
    then: "pricing is back on v5.11.4 (dep-9918, finished 02:28:55), all 8 pods ready, migration 0047 kept. I noted your approval of 02:26 in INC-4471.",
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
    then: "p99 is at 322 ms since 02:29 and errors are at one a minute. The customers' side has recovered.",
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
    then: "1,337 orders failed, 1,102 of them went through on a retry. 235 were lost, worth EUR 18,423.50; the largest is ord_88121. By country: CZ 61, DE 94, AT 37, PL 43.",
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

const journey = tell("journey-lisbon", "traveller-77", [
  {
    by: "user",
    says: "I need to get from Brno to Lisbon for a conference on 11 May 2026, back on 15 May. Budget 600 euros for flights, no flights before 7 in the morning, and I travel with one bag of 20 kg.",
  },
  {
    calls: "search_flights",
    with: { from: ["BRQ", "VIE", "PRG"], to: "LIS", out: "2026-05-10", back: "2026-05-15", passengers: 1, bag_kg: 20 },
    gets: Array.from({ length: 36 }, (_, index) => ({
      offer: `OF-${7_120 + index * 3}`,
      from: ["VIE", "PRG", "BRQ"][index % 3],
      out: `2026-05-10T${String(6 + (index % 12)).padStart(2, "0")}:${index % 2 === 0 ? "15" : "50"}`,
      back: `2026-05-15T${String(9 + (index % 10)).padStart(2, "0")}:05`,
      carrier: ["TP", "OS", "LH", "FR"][index % 4],
      stops: index % 3,
      price: { amount: `${(318.4 + index * 27.15).toFixed(2)}`, currency: "EUR" },
      bag_included: index % 4 !== 3,
    })),
    then: "There are 36 offers within reach. From Vienna the best that leaves after 7 with the bag included is OF-7138 with TAP for 480.30 EUR, one stop or none; from Prague OF-7129 with Lufthansa for 399.85 EUR leaves at 09:50.",
  },
  { by: "user", says: "Vienna is easier by train. Is OF-7138 direct? And which train reaches it without running?" },
  {
    calls: "search_trains",
    with: { from: "Brno hl.n.", to: "Wien Flughafen", date: "2026-05-10", before: "2026-05-10T10:00" },
    gets: Array.from({ length: 9 }, (_, index) => ({
      train: `RJ ${70 + index}`,
      departs: `2026-05-10T0${4 + Math.floor(index / 2)}:${index % 2 === 0 ? "22" : "52"}`,
      arrives: `2026-05-10T0${6 + Math.floor(index / 2)}:${index % 2 === 0 ? "31" : "59"}`,
      changes: index % 2,
      platform: `${2 + (index % 5)}A`,
      price: { amount: `${19 + index}.00`, currency: "EUR" },
    })),
    then: "OF-7138 is direct: TP1273, departs VIE 12:50, arrives LIS 15:25. Train RJ 76 leaves Brno at 07:22 and is at the airport at 09:31 without a change, for 25.00 EUR: more than three hours before the flight.",
  },
  {
    by: "user",
    says: "Take both. Passport name is Zdenka Maria Horakova, born 1988-07-02, frequent flyer TP 445-901-22. Ask before paying.",
  },
  {
    calls: "hold_booking",
    with: {
      offers: ["OF-7138"],
      trains: ["RJ 76"],
      passenger: { name: "Zdenka Maria Horakova", born: "1988-07-02", frequent_flyer: "TP 445-901-22" },
    },
    gets: {
      booking: "LX4K9T",
      holds_until: "2026-02-03T18:00:00Z",
      items: [
        { kind: "flight", number: "TP1273", seat: null },
        { kind: "flight", number: "TP1274", seat: null },
        { kind: "train", number: "RJ 76", coach: 24, seat: 61 },
      ],
      total: { amount: "505.30", currency: "EUR" },
      fare_rules:
        "Changes 70.00 EUR until 24 hours before departure; no refund; bag of 23 kg included; name changes are not possible.",
    },
    then: "Booking LX4K9T is held until 3 February 2026, 18:00 UTC: TP1273 out, TP1274 back, and seat 61 in coach 24 of RJ 76. The total is 505.30 EUR. A change costs 70.00 EUR until a day before; there is no refund. Shall I pay?",
  },
  { by: "user", id: "pay", says: "Yes, with the card ending in 4417. An aisle seat if there is one without a fee." },
  {
    calls: "pay_booking",
    with: { booking: "LX4K9T", card: "4417", seat: "aisle" },
    gets: {
      booking: "LX4K9T",
      status: "ticketed",
      tickets: ["047-2291187304", "047-2291187305"],
      seats: { TP1273: "14C", TP1274: "11D" },
      charged: { amount: "505.30", currency: "EUR" },
      receipt: "https://booking.example/receipts/LX4K9T",
    },
    then: "Paid and ticketed: 047-2291187304 and 047-2291187305. Aisle seats 14C out and 11D back, without a fee. The receipt is at https://booking.example/receipts/LX4K9T.",
  },
  {
    by: "user",
    says: "Now a hotel: walking distance to the Pavilhao Carlos Lopes, quiet, at most 140 euros a night, 10 to 15 May.",
  },
  {
    calls: "search_hotels",
    with: { near: "Pavilhao Carlos Lopes, Lisbon", from: "2026-05-10", to: "2026-05-15", max_per_night: 140 },
    gets: Array.from({ length: 30 }, (_, index) => ({
      hotel: `H-${310 + index}`,
      name: ["Casa do Parque", "Avenida Dois", "Residencia Graca", "Patio 41", "Hotel Eduardo", "Mirante", "Largo Azul"][
        index % 7
      ],
      walk_minutes: 4 + index * 2,
      night: { amount: `${92 + index * 3}.00`, currency: "EUR" },
      rating: (9.3 - index * 0.1).toFixed(1),
      noise: index % 3 === 0 ? "courtyard rooms" : "street side",
      cancel_until: "2026-05-08T22:00:00Z",
    })),
    then: "Casa do Parque (H-310) is 4 minutes away, 92.00 EUR a night with rooms to the courtyard, rated 9.3. Patio 41 (H-313) is 10 minutes away for 101.00 EUR. Both can be cancelled until 8 May, 22:00 UTC.",
  },
  { by: "user", says: "Casa do Parque, courtyard room, breakfast if it is under 15 euros. My arrival is late afternoon." },
  {
    calls: "book_hotel",
    with: { hotel: "H-310", room: "courtyard", breakfast_max: 15, arrival: "2026-05-10T17:00" },
    gets: {
      confirmation: "CDP-20931",
      nights: 5,
      room: "courtyard double, 3rd floor",
      breakfast: { amount: "12.00", currency: "EUR" },
      total: { amount: "520.00", currency: "EUR" },
      pay: "at the hotel",
      phone: "+351 21 555 0147",
    },
    then: "Booked: CDP-20931, five nights in a courtyard double on the third floor, breakfast for 12.00 EUR a day, 520.00 EUR to be paid at the hotel. Its phone is +351 21 555 0147.",
  },
  { by: "user", says: "What is left of my plan, and could you put the conference's registration deadline next to it?" },
  {
    by: "assistant",
    says: "Booked: flights LX4K9T (505.30 EUR) and hotel CDP-20931 (520.00 EUR). Open: the train back from Vienna on 15 May, and your registration, whose deadline is 2026-04-01 according to the conference's page. You are 94.70 EUR under your budget for flights.",
  },
  { by: "user", below: "pay", says: "Wait, hold on with paying. Can the return be on 16 May instead for the same price?" },
  {
    by: "assistant",
    says: "On 16 May TP1274 costs 61.00 EUR more, 566.30 EUR in all, still within your 600. The hold on LX4K9T stays as it is until you decide.",
  },
]);

const warehouse = tell("migration-orders", "data-lin", [
  {
    by: "user",
    says: "We have to move table orders (412 million rows) from the old cluster pg-old-3 to pg-new-1 this weekend, with less than 10 minutes of read-only time. Plan it with me.",
  },
  {
    calls: "describe_table",
    with: { cluster: "pg-old-3", table: "orders" },
    gets: {
      rows: 412_338_907,
      size_gb: 318,
      indexes: Array.from({ length: 26 }, (_, index) => ({
        name: `orders_idx_${index}`,
        size_gb: 9 + index * 2,
        scans_last_30_days: index === 6 ? 0 : 91_402 + index * 1_733,
        fragmentation: `${3 + index}%`,
        columns: ["tenant_id", "created_at", "status", "customer_id"].slice(0, 1 + (index % 4)),
        used_last_30_days: index !== 6,
      })),
      partitions: 24,
      largest_partition: "orders_2025_11",
      replica_identity: "default",
      autovacuum: "2026-02-20T03:14:00Z",
    },
    then: "orders has 412,338,907 rows in 24 partitions, 318 GB, and 26 indexes; orders_idx_6 was not used in 30 days. The largest partition is orders_2025_11.",
  },
  { by: "user", says: "Logical replication then. What stands in the way? I remember a table without a primary key." },
  {
    calls: "check_replication",
    with: { source: "pg-old-3", target: "pg-new-1", tables: ["orders", "order_events", "order_notes"] },
    gets: {
      wal_level: "logical",
      slots_free: 3,
      max_wal_gb: 200,
      tables: [
        { table: "orders", primary_key: "id", ok: true },
        { table: "order_events", primary_key: "id", ok: true },
        { table: "order_notes", primary_key: null, ok: false, rows: 8_204_551 },
      ],
      sequences: ["orders_id_seq", "order_events_id_seq"],
      extensions: { source: ["pg_trgm 1.6", "btree_gin 1.3"], target: ["pg_trgm 1.6"] },
      network_mbps: 2_300,
      estimate_hours: 5.5,
    },
    then: "order_notes (8,204,551 rows) has no primary key and would block. btree_gin 1.3 is missing on pg-new-1. Sequences orders_id_seq and order_events_id_seq don't replicate. The first copy would take about 5.5 hours at 2,300 Mbit/s.",
  },
  {
    by: "user",
    says: "For order_notes set REPLICA IDENTITY FULL, it is small. Install btree_gin. We decided not to copy orders_idx_6. Write the steps with times.",
  },
  {
    calls: "write_runbook",
    with: { ticket: "DB-2093", window: "2026-03-07T22:00:00Z" },
    gets: {
      runbook: "https://wiki.example/runbooks/DB-2093",
      steps: Array.from({ length: 15 }, (_, index) => ({
        step: index + 1,
        at: `2026-03-07T${String(16 + Math.floor(index / 2)).padStart(2, "0")}:${index % 2 === 0 ? "00" : "30"}:00Z`,
        what: [
          "freeze schema changes",
          "create publication pub_orders",
          "create subscription sub_orders",
          "copy partitions",
          "build indexes",
          "compare row counts",
          "compare checksums by partition",
          "set order_notes to replica identity full",
          "announce read-only",
          "stop writers",
          "wait for lag 0",
          "advance sequences by 10000",
          "switch pgbouncer to pg-new-1",
          "start writers",
          "watch for an hour",
        ][index],
        owner: index % 2 === 0 ? "lin" : "marek",
        rollback: index < 12 ? "drop the subscription" : "switch pgbouncer back to pg-old-3",
      })),
    },
    then: "The runbook is at https://wiki.example/runbooks/DB-2093: 15 steps, from freezing schema changes at 16:00 to watching at 23:00. Until step 12 the way back is to drop the subscription, after it to switch pgbouncer back.",
  },
  { by: "user", says: "It is Saturday 21:40. Copy is done. Compare counts and checksums, partition by partition." },
  {
    calls: "compare_partitions",
    with: { source: "pg-old-3", target: "pg-new-1", table: "orders" },
    gets: Array.from({ length: 24 }, (_, index) => ({
      partition: `orders_${2024 + Math.floor(index / 12)}_${String((index % 12) + 1).padStart(2, "0")}`,
      rows_source: 15_200_114 + index * 166_013,
      rows_target: 15_200_114 + index * 166_013 - (index === 17 ? 212 : 0),
      checksum_source: (0x9a3c11f0 + index * 7919).toString(16),
      checksum_target: (0x9a3c11f0 + index * 7919 - (index === 17 ? 1 : 0)).toString(16),
      compared_at: `2026-03-07T21:${String(20 + (index % 40)).padStart(2, "0")}:07Z`,
      duration_ms: 8_410 + index * 137,
      checksum_equal: index !== 17,
    })),
    then: "23 partitions agree. orders_2025_06 lacks 212 rows on pg-new-1 and its checksum differs.",
  },
  { by: "user", says: "Copy those 212 by id and find out why. Nothing else moves until that is explained." },
  {
    calls: "find_missing",
    with: { partition: "orders_2025_06" },
    gets: {
      missing: 212,
      first_id: 300_118_402,
      last_id: 300_118_613,
      written_by: "backfill-job-77",
      written_at: "2026-03-07T17:02:11Z",
      reason: "the session had session_replication_role = replica, which logical decoding filters",
      copied: 212,
      checksum_equal: true,
    },
    then: "backfill-job-77 wrote ids 300118402 to 300118613 at 17:02:11 with session_replication_role = replica, so they were not sent. All 212 are copied now and the checksum of orders_2025_06 is equal.",
  },
  { by: "user", says: "Explained. Go on with step 9, I am in the channel. What is the lag?" },
  {
    calls: "switch_over",
    with: { ticket: "DB-2093", from_step: 9 },
    gets: {
      read_only_from: "2026-03-07T22:04:10Z",
      lag_bytes: 0,
      sequences: { orders_id_seq: 412_350_908, order_events_id_seq: 1_903_441_220 },
      pgbouncer: "pg-new-1",
      writers_started: "2026-03-07T22:10:32Z",
      read_only_seconds: 382,
      errors: 0,
    },
    then: "Switched: read-only from 22:04:10 to 22:10:32, 382 seconds, lag 0 before the switch. orders_id_seq is at 412350908. pgbouncer points at pg-new-1 and there are no errors.",
  },
  { by: "user", says: "Under 7 minutes, good. When may we drop the old cluster?" },
  {
    by: "assistant",
    says: "You decided in DB-2093 to keep pg-old-3 read-only for 14 days, so not before 2026-03-21. Until then a nightly comparison of checksums runs at 03:00. Still open: remove REPLICA IDENTITY FULL from order_notes after it has a primary key (DB-2101).",
  },
]);

export const demoConversations: readonly Conversation[] = [incident, journey, warehouse];

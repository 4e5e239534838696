/** A large table moved between clusters, partition by partition. */
import { tell } from "./tell.ts";

export const warehouse = tell("migration-orders", "data-lin", [
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
    concludes:
      "orders has 412,338,907 rows in 24 partitions, 318 GB, and 26 indexes; orders_idx_6 was not used in 30 days. The largest partition is orders_2025_11.",
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
    concludes:
      "order_notes (8,204,551 rows) has no primary key and would block. btree_gin 1.3 is missing on pg-new-1. Sequences orders_id_seq and order_events_id_seq don't replicate. The first copy would take about 5.5 hours at 2,300 Mbit/s.",
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
    concludes:
      "The runbook is at https://wiki.example/runbooks/DB-2093: 15 steps, from freezing schema changes at 16:00 to watching at 23:00. Until step 12 the way back is to drop the subscription, after it to switch pgbouncer back.",
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
    concludes: "23 partitions agree. orders_2025_06 lacks 212 rows on pg-new-1 and its checksum differs.",
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
    concludes:
      "backfill-job-77 wrote ids 300118402 to 300118613 at 17:02:11 with session_replication_role = replica, so they were not sent. All 212 are copied now and the checksum of orders_2025_06 is equal.",
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
    concludes:
      "Switched: read-only from 22:04:10 to 22:10:32, 382 seconds, lag 0 before the switch. orders_id_seq is at 412350908. pgbouncer points at pg-new-1 and there are no errors.",
  },
  { by: "user", says: "Under 7 minutes, good. When may we drop the old cluster?" },
  {
    by: "assistant",
    says: "You decided in DB-2093 to keep pg-old-3 read-only for 14 days, so not before 2026-03-21. Until then a nightly comparison of checksums runs at 03:00. Still open: remove REPLICA IDENTITY FULL from order_notes after it has a primary key (DB-2101).",
  },
]);

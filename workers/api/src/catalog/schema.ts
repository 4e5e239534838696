/**
 * The catalog's tables in D1. Truth for tenants, keys, prices, idempotency and audit; a projection of
 * what the session objects say for sessions, usage and jobs, and of what R2 holds for skills. Instants are
 * epoch milliseconds, money is integer nano-USD, documents are JSON text. No foreign keys: a tenant's rows
 * are erased by its id, and an audit row outlives what it speaks of. Migrations are generated from here and from
 * `ledger-schema.ts`, and are additive.
 */
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { NewBlock } from "@sessionplane/shared/block";
import type { CompactionJob } from "@sessionplane/shared/compaction-job";
import type { Metadata } from "@sessionplane/shared/fields";
import type { SessionSettings } from "@sessionplane/shared/session";
import type { TenantSettings } from "@sessionplane/shared/tenant";

export const tenants = sqliteTable(
  "tenants",
  {
    id: text().primaryKey(),
    externalId: text("external_id"),
    name: text().notNull(),
    status: text({ enum: ["active", "suspended"] }).notNull(),
    metadata: text({ mode: "json" }).$type<Metadata>().notNull(),
    settings: text({ mode: "json" }).$type<TenantSettings>().notNull(),
    revision: integer().notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (t) => [uniqueIndex("tenants_external_id").on(t.externalId), index("tenants_created_at").on(t.createdAt, t.id)],
);

export const apiKeys = sqliteTable(
  "api_keys",
  {
    id: text().primaryKey(),
    /** The tenant, or null for an operator's key. */
    tenantId: text("tenant_id"),
    /** SHA-256 of the secret: 256 random bits need no slow hash. */
    hash: text().notNull(),
    start: text().notNull(),
    name: text().notNull(),
    scopes: text({ mode: "json" }).$type<string[]>().notNull(),
    createdAt: integer("created_at").notNull(),
    expiresAt: integer("expires_at"),
    revokedAt: integer("revoked_at"),
    lastUsedAt: integer("last_used_at"),
  },
  (t) => [uniqueIndex("api_keys_hash").on(t.hash), index("api_keys_tenant").on(t.tenantId, t.createdAt, t.id)],
);

export const sessions = sqliteTable(
  "sessions",
  {
    id: text().primaryKey(),
    tenantId: text("tenant_id").notNull(),
    externalId: text("external_id"),
    name: text(),
    userId: text("user_id"),
    model: text(),
    source: text(),
    status: text({ enum: ["active", "ended", "erased"] }).notNull(),
    parentSessionId: text("parent_session_id"),
    metadata: text({ mode: "json" }).$type<Metadata>().notNull(),
    tags: text({ mode: "json" }).$type<string[]>().notNull(),
    settings: text({ mode: "json" }).$type<SessionSettings>().notNull(),
    /** What its object is to be opened with; null once it has said that it is there. */
    blocks: text({ mode: "json" }).$type<readonly NewBlock[]>(),
    endReason: text("end_reason"),
    leafId: text("leaf_id"),
    messageCount: integer("message_count").notNull(),
    tokenEstimate: integer("token_estimate").notNull(),
    compactionState: text("compaction_state").notNull(),
    openJobId: text("open_job_id"),
    usageEvents: integer("usage_events").notNull(),
    inputTokens: integer("input_tokens").notNull(),
    outputTokens: integer("output_tokens").notNull(),
    listNano: integer("list_nano").notNull(),
    billedNano: integer("billed_nano").notNull(),
    unpricedEvents: integer("unpriced_events").notNull(),
    revision: integer().notNull(),
    /** The log position that this row shows: an older fact never overwrites a newer one. */
    seq: integer().notNull(),
    /** When the sweep last touched its object. */
    sweptAt: integer("swept_at").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (t) => [
    uniqueIndex("sessions_external_id").on(t.tenantId, t.externalId),
    index("sessions_created_at").on(t.tenantId, t.createdAt, t.id),
    index("sessions_updated_at").on(t.tenantId, t.updatedAt, t.id),
    index("sessions_parent").on(t.tenantId, t.parentSessionId),
    index("sessions_user").on(t.tenantId, t.userId, t.updatedAt),
    index("sessions_swept_at").on(t.sweptAt),
  ],
);

export const compactionJobs = sqliteTable(
  "compaction_jobs",
  {
    id: text().primaryKey(),
    tenantId: text("tenant_id").notNull(),
    sessionId: text("session_id").notNull(),
    state: text().notNull(),
    seq: integer().notNull(),
    job: text({ mode: "json" }).$type<CompactionJob>().notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
  },
  (t) => [
    index("compaction_jobs_tenant").on(t.tenantId, t.createdAt, t.id),
    index("compaction_jobs_session").on(t.sessionId),
    index("compaction_jobs_state").on(t.state, t.createdAt, t.id),
  ],
);

/** A deleted skill stays as a row with its last version, so that what is told late does not bring it back. */
export const skills = sqliteTable(
  "skills",
  {
    tenantId: text("tenant_id").notNull(),
    key: text().notNull(),
    version: integer().notNull(),
    description: text(),
    sha256: text().notNull(),
    bytes: integer().notNull(),
    tokenEstimate: integer("token_estimate").notNull(),
    createdAt: integer("created_at").notNull(),
    updatedAt: integer("updated_at").notNull(),
    deletedAt: integer("deleted_at"),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.key] })],
);

export const idempotency = sqliteTable(
  "idempotency",
  {
    /** The tenant's id, or `operator`. */
    owner: text().notNull(),
    /** SHA-256 of method, path and the caller's key. */
    key: text().notNull(),
    fingerprint: text().notNull(),
    /** Made with the claim, so that a repeated effect makes the same resource. */
    resourceSeed: text("resource_seed").notNull(),
    lockedUntil: integer("locked_until").notNull(),
    /** Null while the request runs. */
    status: integer(),
    body: text(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.owner, t.key] }), index("idempotency_created_at").on(t.createdAt)],
);

export const auditEvents = sqliteTable(
  "audit_events",
  {
    id: text().primaryKey(),
    tenantId: text("tenant_id"),
    /** The key that acted. */
    actor: text().notNull(),
    action: text().notNull(),
    target: text().notNull(),
    requestId: text("request_id").notNull(),
    occurredAt: integer("occurred_at").notNull(),
  },
  (t) => [
    index("audit_events_occurred_at").on(t.occurredAt, t.id),
    index("audit_events_tenant").on(t.tenantId, t.occurredAt, t.id),
  ],
);

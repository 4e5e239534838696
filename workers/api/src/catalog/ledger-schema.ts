/**
 * The catalog's tables of usage and prices. Usage is a projection of what the session objects say, prices and
 * aliases are truth. See `schema.ts`.
 */
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { UsageClass } from "@sessionplane/shared/price";
import type { PricedUsage } from "@sessionplane/shared/usage-event";

export const usageEvents = sqliteTable(
  "usage_events",
  {
    tenantId: text("tenant_id").notNull(),
    sessionId: text("session_id").notNull(),
    eventId: text("event_id").notNull(),
    seq: integer().notNull(),
    userId: text("user_id"),
    provider: text().notNull(),
    model: text().notNull(),
    purpose: text().notNull(),
    status: text().notNull(),
    occurredAt: integer("occurred_at").notNull(),
    recordedAt: integer("recorded_at").notNull(),
    listNano: integer("list_nano").notNull(),
    billedNano: integer("billed_nano").notNull(),
    /** 1 when a line has no price; of a correction, by how much it changes that. */
    unpriced: integer().notNull(),
    /** The event that this corrects; null for a call. */
    adjusts: text(),
    /** 1 when its classes do not add up to its totals. */
    inconsistent: integer().notNull().default(0),
    event: text({ mode: "json" }).$type<PricedUsage>().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.sessionId, t.eventId] }),
    index("usage_events_occurred_at").on(t.tenantId, t.occurredAt),
    index("usage_events_event").on(t.tenantId, t.eventId),
    index("usage_events_adjusts")
      .on(t.tenantId, t.sessionId, t.adjusts)
      .where(sql`adjusts IS NOT NULL`),
  ],
);

/** What a sum is of, and what it adds up. `events` counts each event once, on its first line. */
const sumColumns = () => ({
  sessionId: text("session_id").notNull(),
  /** Empty when the event has no user: a key column can't be null. */
  userId: text("user_id").notNull(),
  provider: text().notNull(),
  model: text().notNull(),
  purpose: text().notNull(),
  class: text().$type<UsageClass>().notNull(),
  events: integer().notNull(),
  quantity: integer().notNull(),
  listNano: integer("list_nano").notNull(),
  billedNano: integer("billed_nano").notNull(),
  unpricedEvents: integer("unpriced_events").notNull(),
});

/** 15 minutes UTC. */
export const usageRollups = sqliteTable(
  "usage_rollups",
  {
    tenantId: text("tenant_id").notNull(),
    bucket: integer().notNull(),
    ...sumColumns(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.bucket, t.sessionId, t.userId, t.provider, t.model, t.purpose, t.class] }),
    index("usage_rollups_bucket").on(t.bucket),
  ],
);

/** What quarters become once they are old: days of the tenant's billing time zone, as it was then. */
export const usageDays = sqliteTable(
  "usage_days",
  {
    tenantId: text("tenant_id").notNull(),
    /** Where the day begins and, half open, ends. */
    start: integer().notNull(),
    end: integer().notNull(),
    ...sumColumns(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.start, t.end, t.sessionId, t.userId, t.provider, t.model, t.purpose, t.class] }),
    index("usage_days_start").on(t.start),
  ],
);

/** Files of usage events in R2 that are no longer in `usage_events`. */
export const usageArchives = sqliteTable(
  "usage_archives",
  {
    id: text().primaryKey(),
    tenantId: text("tenant_id").notNull(),
    /** In R2. */
    key: text().notNull(),
    events: integer().notNull(),
    bytes: integer().notNull(),
    sha256: text().notNull(),
    firstOccurredAt: integer("first_occurred_at").notNull(),
    lastOccurredAt: integer("last_occurred_at").notNull(),
    listNano: integer("list_nano").notNull(),
    billedNano: integer("billed_nano").notNull(),
    createdAt: integer("created_at").notNull(),
  },
  (t) => [index("usage_archives_tenant").on(t.tenantId, t.createdAt, t.id)],
);

/** What of a session is in them. A row of its own: a session's row may be made again, and this must not be forgotten. */
export const archivedUsage = sqliteTable(
  "archived_usage",
  {
    tenantId: text("tenant_id").notNull(),
    sessionId: text("session_id").notNull(),
    /** Its events up to this seq, all of which are counted. */
    throughSeq: integer("through_seq").notNull(),
    listNano: integer("list_nano").notNull(),
    billedNano: integer("billed_nano").notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.sessionId] })],
);

/** Under which other name a model's prices are found when it has none of its own. */
export const priceAliases = sqliteTable(
  "price_aliases",
  {
    id: text().primaryKey(),
    /** Empty for the plane's own. */
    tenantId: text("tenant_id").notNull(),
    provider: text().notNull(),
    model: text().notNull(),
    /** Null: from then on there is no other name. */
    targetProvider: text("target_provider"),
    targetModel: text("target_model"),
    effectiveFrom: integer("effective_from").notNull(),
    recordedAt: integer("recorded_at").notNull(),
  },
  (t) => [uniqueIndex("price_aliases_moment").on(t.provider, t.model, t.tenantId, t.effectiveFrom)],
);

export const prices = sqliteTable(
  "prices",
  {
    id: text().primaryKey(),
    /** Empty for the plane's own prices: a unique index treats nulls as different. */
    tenantId: text("tenant_id").notNull(),
    provider: text().notNull(),
    model: text().notNull(),
    class: text().$type<UsageClass>().notNull(),
    tierMin: integer("tier_min").notNull(),
    femtoUsdPerToken: integer("femto_usd_per_token").notNull(),
    effectiveFrom: integer("effective_from").notNull(),
    recordedAt: integer("recorded_at").notNull(),
    source: text().notNull(),
  },
  (t) => [uniqueIndex("prices_moment").on(t.provider, t.model, t.tenantId, t.class, t.tierMin, t.effectiveFrom)],
);

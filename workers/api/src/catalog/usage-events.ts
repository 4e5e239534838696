/** The `usage_events` table: every event of every session, for lists across them. The projection alone writes it. */
import { and, eq, isNull, sql } from "drizzle-orm";
import { formatInstant } from "@sessionplane/shared/fields";
import type { UnpricedModel, UsageClass } from "@sessionplane/shared/price";
import { type StoredUsage, explainUsage, toUsageEvent } from "@sessionplane/shared/priced-usage";
import type { ExplainedUsage, UsageEvent } from "@sessionplane/shared/usage-event";
import type { CatalogDb } from "./db.ts";
import type { TenantScope } from "./scope.ts";
import { type InstantList, inOrder, pastCursor, within } from "./instant-list.ts";
import { usageEvents } from "./ledger-schema.ts";

export type EventRow = typeof usageEvents.$inferSelect;

export type UsageFilter = Omit<InstantList, "createdAt"> & {
  readonly occurredAt: InstantList["createdAt"];
  readonly eventId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly userId?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly purpose?: string | undefined;
  readonly unpriced?: boolean;
  readonly inconsistent?: boolean;
};

export type TenantUsageEvent = UsageEvent & { readonly tenant_id: string };

const equals = (column: Parameters<typeof eq>[0], value: string | undefined) =>
  value === undefined ? undefined : eq(column, value);
const ofScope = (scope: TenantScope) => (scope === "all_tenants" ? undefined : eq(usageEvents.tenantId, scope));
/** Of one event: tenant by tenant, since an event is found within its tenant. */
const ofEvent = (scope: TenantScope, eventId: string) =>
  and(
    scope === "all_tenants" ? sql`${usageEvents.tenantId} IN (SELECT id FROM tenants)` : ofScope(scope),
    eq(usageEvents.eventId, eventId),
  );

/** An event among those of all sessions, as text: an event's id is its session's alone. */
const PLACE = sql`${usageEvents.sessionId} || ' ' || ${usageEvents.eventId}`;
type Named = { readonly session_id: string; readonly id: string; readonly occurred_at: string };
/** Where a page ended: of `cursor`. */
export const positionOf = ({ session_id, id, occurred_at }: Named): readonly [number, string] => [
  Date.parse(occurred_at),
  `${session_id} ${id}`,
];

const CORRECTIONS = sql`usage_events AS c WHERE c.tenant_id = ${usageEvents.tenantId} AND c.session_id = ${usageEvents.sessionId}
  AND c.adjusts = ${usageEvents.eventId}`;
/** Calls of which that holds after their corrections. */
const IS_UNPRICED = sql`${usageEvents.adjusts} IS NULL
  AND ${usageEvents.unpriced} + coalesce((SELECT sum(c.unpriced) FROM ${CORRECTIONS}), 0) > 0`;
const IS_INCONSISTENT = sql`${usageEvents.adjusts} IS NULL
  AND coalesce((SELECT c.inconsistent FROM ${CORRECTIONS} ORDER BY c.seq DESC LIMIT 1), ${usageEvents.inconsistent}) = 1`;

/** One row more than the limit, by the time of the call. */
export async function listUsageEvents(db: CatalogDb, scope: TenantScope, filter: UsageFilter): Promise<TenantUsageEvent[]> {
  const { occurredAt } = usageEvents;
  const rows = await db
    .select()
    .from(usageEvents)
    .where(
      and(
        filter.eventId === undefined ? ofScope(scope) : ofEvent(scope, filter.eventId),
        equals(usageEvents.sessionId, filter.sessionId),
        equals(usageEvents.userId, filter.userId),
        equals(usageEvents.provider, filter.provider),
        equals(usageEvents.model, filter.model),
        equals(usageEvents.purpose, filter.purpose),
        filter.unpriced === true ? IS_UNPRICED : undefined,
        filter.inconsistent === true ? IS_INCONSISTENT : undefined,
        within(occurredAt, filter.occurredAt),
        pastCursor(occurredAt, PLACE, filter),
      ),
    )
    .orderBy(...inOrder(occurredAt, PLACE, filter.order))
    .limit(filter.limit + 1)
    .all();
  return rows.map((row) => ({ ...toUsageEvent(row.sessionId, row.event, row.recordedAt), tenant_id: row.tenantId }));
}

const stored = ({ event, recordedAt }: Pick<EventRow, "event" | "recordedAt">): StoredUsage => ({ event, recordedAt });

/** At most two: an event's id is its session's. */
export async function explainEvents(db: CatalogDb, scope: TenantScope, eventId: string): Promise<ExplainedUsage[]> {
  const rows = await db.select().from(usageEvents).where(ofEvent(scope, eventId)).limit(2).all();
  const adjustments = await adjustmentsOf(db, rows);
  return rows.map((row) => explainUsage(row.sessionId, stored(row), (adjustments.get(placeOf(row)) ?? []).map(stored)));
}

/** An event among those of all sessions. */
export const placeOf = ({ sessionId, eventId }: Pick<EventRow, "sessionId" | "eventId">): string =>
  JSON.stringify([sessionId, eventId]);

/** The corrections of events, oldest first, by `placeOf`. */
export async function adjustmentsOf(
  db: CatalogDb,
  events: readonly Pick<EventRow, "tenantId" | "sessionId" | "eventId">[],
): Promise<Map<string, EventRow[]>> {
  const wanted = JSON.stringify(events.map(({ tenantId, sessionId, eventId }) => [tenantId, sessionId, eventId]));
  const rows = await db
    .select()
    .from(usageEvents)
    .where(
      sql`(${usageEvents.tenantId}, ${usageEvents.sessionId}, ${usageEvents.adjusts}) IN
        (SELECT value->>0, value->>1, value->>2 FROM json_each(${wanted})) AND ${usageEvents.adjusts} IS NOT NULL`,
    )
    .orderBy(usageEvents.seq)
    .all();
  return Map.groupBy(rows, (row) => placeOf({ sessionId: row.sessionId, eventId: row.adjusts ?? "" }));
}

/** Calls of a range, not their corrections, the oldest first; one more than the limit. */
export async function callsBetween(
  db: CatalogDb,
  scope: TenantScope,
  filter: Pick<UsageFilter, "limit" | "cursor" | "occurredAt" | "provider" | "model">,
): Promise<EventRow[]> {
  const { occurredAt } = usageEvents;
  return db
    .select()
    .from(usageEvents)
    .where(
      and(
        ofScope(scope),
        isNull(usageEvents.adjusts),
        equals(usageEvents.provider, filter.provider),
        equals(usageEvents.model, filter.model),
        within(occurredAt, filter.occurredAt),
        pastCursor(occurredAt, PLACE, { order: "asc", cursor: filter.cursor }),
      ),
    )
    .orderBy(...inOrder(occurredAt, PLACE, "asc"))
    .limit(filter.limit + 1)
    .all();
}

type UnpricedRow = {
  provider: string;
  model: string;
  class: UsageClass;
  events: number;
  quantity: number;
  first_at: number;
  last_at: number;
};

/**
 * Classes of models that were used and have no price, the most used first. What holds of a call is its last
 * correction's word, which may have priced one class and not the other, or have taken a price away.
 */
export async function unpricedModels(db: CatalogDb, scope: TenantScope, limit: number): Promise<UnpricedModel[]> {
  const tenant = scope === "all_tenants" ? sql`true` : sql`u.tenant_id = ${scope}`;
  const rows = await db.all<UnpricedRow>(sql`
SELECT u.provider AS provider, u.model AS model, line.value->>'$.class' AS class, count(*) AS events,
  sum(line.value->>'$.quantity') AS quantity, min(u.occurred_at) AS first_at, max(u.occurred_at) AS last_at
FROM usage_events AS u, json_each(u.event, '$.lines') AS line
WHERE ${tenant} AND (u.unpriced = 1 OR u.adjusts IS NOT NULL) AND (line.value->>'$.list_nano') IS NULL
  AND NOT EXISTS (SELECT 1 FROM usage_events AS later WHERE later.tenant_id = u.tenant_id AND later.session_id = u.session_id
    AND later.adjusts = coalesce(u.adjusts, u.event_id) AND later.seq > u.seq)
GROUP BY 1, 2, 3 ORDER BY events DESC, provider, model, class LIMIT ${limit}`);
  return rows.map(({ first_at: first, last_at: last, ...row }) => ({
    ...row,
    first_occurred_at: formatInstant(first),
    last_occurred_at: formatInstant(last),
  }));
}

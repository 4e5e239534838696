/** The `compaction_jobs` table: what the session objects say of their jobs, across sessions and tenants. */
import { and, eq } from "drizzle-orm";
import type { CompactionJob, JobState } from "@sessionplane/shared/compaction-job";
import type { CatalogDb } from "./db.ts";
import type { TenantScope } from "./scope.ts";
import { type InstantList, inOrder, pastCursor, within } from "./instant-list.ts";
import { compactionJobs } from "./schema.ts";

export type JobFilter = InstantList & { readonly state?: JobState | undefined };

export type TenantJob = CompactionJob & { readonly tenant_id: string };

/** One row more than the limit. */
export async function listJobs(db: CatalogDb, scope: TenantScope, filter: JobFilter): Promise<TenantJob[]> {
  const rows = await db
    .select()
    .from(compactionJobs)
    .where(
      and(
        scope === "all_tenants" ? undefined : eq(compactionJobs.tenantId, scope),
        filter.state === undefined ? undefined : eq(compactionJobs.state, filter.state),
        within(compactionJobs.createdAt, filter.createdAt),
        pastCursor(compactionJobs.createdAt, compactionJobs.id, filter),
      ),
    )
    .orderBy(...inOrder(compactionJobs.createdAt, compactionJobs.id, filter.order))
    .limit(filter.limit + 1)
    .all();
  return rows.map((row) => ({ ...row.job, tenant_id: row.tenantId }));
}

/** Whose job it is. For operators: a tenant asks its session. */
export async function findJobOwner(db: CatalogDb, jobId: string): Promise<{ tenantId: string; sessionId: string } | null> {
  const { tenantId, sessionId } = compactionJobs;
  const row = await db.select({ tenantId, sessionId }).from(compactionJobs).where(eq(compactionJobs.id, jobId)).get();
  return row ?? null;
}

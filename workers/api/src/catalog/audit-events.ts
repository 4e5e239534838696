/** Who did what, when. Rows outlive what they speak of. */
import { newId } from "@sessionplane/shared/ids";
import type { TenantId } from "@sessionplane/shared/ids";
import type { CatalogDb } from "./db.ts";
import { auditEvents } from "./schema.ts";

export type AuditEntry = {
  readonly tenantId: TenantId | null;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly requestId: string;
};

/** As a statement, for the batch that holds the effect. */
export const auditStatement = (db: CatalogDb, entry: AuditEntry) =>
  db.insert(auditEvents).values({ id: newId("audit"), occurredAt: Date.now(), ...entry });

export async function recordAudit(db: CatalogDb, entry: AuditEntry): Promise<void> {
  await auditStatement(db, entry);
}

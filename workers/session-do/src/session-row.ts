/** The one row that says what the session is. Kept in memory; eviction may drop it. */
import type { SessionId, TenantId } from "@sessionplane/shared/ids";
import { type SessionSettings, type StoredStatus, sessionSettingsSchema, storedStatusSchema } from "@sessionplane/shared/session";
import { parseId } from "@sessionplane/shared/ids";

type StoredRow = {
  tenant_id: string;
  session_id: string;
  settings: string;
  status: string;
  end_reason: string | null;
  revision: number;
  seq: number;
  projected_seq: number;
  failures: number;
  calibration: number;
  created_at: number;
  updated_at: number;
};

export type SessionRow = Omit<StoredRow, "tenant_id" | "session_id" | "settings" | "status"> & {
  readonly tenant_id: TenantId;
  readonly session_id: SessionId;
  readonly settings: SessionSettings;
  readonly status: StoredStatus;
};

export const isErased = ({ row }: { readonly row: SessionRow }): boolean => row.status === "erased";

/** What cuts off a stream of what was there. */
export const ERASED_MEANWHILE = "the session was erased while it was read";

const COLUMNS =
  "tenant_id, session_id, settings, status, end_reason, revision, seq, projected_seq, failures, calibration, created_at, updated_at";

export function readSessionRow(sql: SqlStorage): SessionRow {
  const row = sql.exec<StoredRow>(`SELECT ${COLUMNS} FROM session`).one();
  const tenantId = parseId("tenant", row.tenant_id);
  const sessionId = parseId("session", row.session_id);
  if (tenantId === null || sessionId === null) throw new Error("the session's row holds ids that are none");
  return {
    ...row,
    tenant_id: tenantId,
    session_id: sessionId,
    settings: sessionSettingsSchema.parse(JSON.parse(row.settings)),
    status: storedStatusSchema.parse(row.status),
  };
}

export const hasSessionRow = (sql: SqlStorage): boolean => sql.exec("SELECT 1 FROM session").toArray().length > 0;

/** Writes the row whole: it is one row either way. */
export function writeSessionRow(sql: SqlStorage, row: SessionRow): void {
  sql.exec(
    `INSERT OR REPLACE INTO session (only, ${COLUMNS}) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[row.tenant_id, row.session_id, JSON.stringify(row.settings), row.status, row.end_reason, row.revision, row.seq],
    ...[row.projected_seq, row.failures, row.calibration, row.created_at, row.updated_at],
  );
}

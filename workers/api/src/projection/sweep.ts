/**
 * The scheduled sweep: touches sessions' objects in turn. An alarm that the platform dropped revives only
 * on contact, and an object that wakes arms its alarm when its log is ahead of the catalog.
 */
import { parseId } from "@sessionplane/shared/ids";
import { DEFAULT_TENANT_SETTINGS } from "@sessionplane/shared/tenant";
import { archiveOld } from "../archive/archive-ledger.ts";
import { connect } from "../catalog/db.ts";
import { deleteExpired } from "../catalog/idempotency.ts";
import { takeForSweep } from "../catalog/sessions.ts";
import type { ApiEnv } from "../env.ts";
import { logError, logInfo } from "../log.ts";
import { callObject } from "../session-client.ts";

/** Touched a run: well under the subrequests of one invocation. */
const SESSIONS_PER_SWEEP = 200;

async function touch(env: ApiEnv, row: { tenantId: string; id: string }): Promise<boolean> {
  const tenantId = parseId("tenant", row.tenantId);
  const sessionId = parseId("session", row.id);
  if (tenantId === null || sessionId === null) return false;
  try {
    await callObject(env, tenantId, sessionId, (session) => session.describe(DEFAULT_TENANT_SETTINGS));
    return true;
  } catch (error) {
    logError("sweep_failed", error, { session_id: row.id });
    return false;
  }
}

export async function sweep(env: ApiEnv): Promise<void> {
  const db = connect(env.CATALOG);
  await deleteExpired(db);
  const rows = await takeForSweep(db, SESSIONS_PER_SWEEP);
  const touched = await Promise.all(rows.map((row) => touch(env, row)));
  try {
    const archived = await archiveOld(env, Date.now());
    if (archived.events > 0 || archived.quarters > 0) logInfo("ledger_archived", archived);
  } catch (error) {
    logError("archive_failed", error);
  }
  logInfo("swept", { sessions: rows.length, touched: touched.filter(Boolean).length });
}

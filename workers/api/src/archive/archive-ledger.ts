/**
 * What the catalog keeps of old usage: events go to files in R2, sums of quarters of an hour become sums of
 * days. One step at a time, each of them whole; a step that died is made again and counts nothing twice.
 */
import { type TenantId, parseId } from "@sessionplane/shared/ids";
import { formatInstant } from "@sessionplane/shared/fields";
import type { ArchiveStep } from "@sessionplane/shared/ledger-archive";
import { connect } from "../catalog/db.ts";
import {
  type ArchivedRow,
  type Room,
  allArchives,
  archivableSeq,
  eventsThrough,
  moveToArchive,
  sessionsToArchive,
  tenantsToArchive,
} from "../catalog/usage-archives.ts";
import type { ApiEnv } from "../env.ts";
import { logError } from "../log.ts";
import { callObject } from "../session-client.ts";
import { foldQuarters } from "./fold-quarters.ts";
import { putFile, putManifest } from "./usage-file.ts";

/** Of one file: a few megabytes before they are packed, and never more than a worker can hold. */
const ROOM: Room = { events: 5_000, bytes: 8 * 1024 * 1024 };
/** Looked at in one step; each is a call of its object. */
const MAX_SESSIONS = 100;

const DAY_MS = 86_400_000;
export const keptSince = (env: Pick<ApiEnv, "LEDGER_KEPT_DAYS">, now: number): number =>
  now - Number(env.LEDGER_KEPT_DAYS) * DAY_MS;

export type Scope = { readonly tenantId: TenantId; readonly timeZone: string; readonly before: number };
type Gathered = { readonly rows: ArchivedRow[]; readonly waiting: number; readonly more: boolean; readonly last: string };

/** How far the catalog has a session's log without a gap: what is behind it never comes as news again. */
async function confirmedSeq(env: ApiEnv, tenantId: TenantId, id: string): Promise<number> {
  const sessionId = parseId("session", id);
  if (sessionId === null) return 0;
  try {
    const confirmed = await callObject(env, tenantId, sessionId, (session) => session.confirmedSeq());
    return confirmed.ok ? confirmed.value : 0;
  } catch (error) {
    // One that does not answer holds back its own events alone.
    logError("archive_session_silent", error, { session_id: id });
    return 0;
  }
}

/** The events of one file, session by session. */
async function gather(env: ApiEnv, { tenantId, before }: Scope, after: string): Promise<Gathered> {
  const db = connect(env.CATALOG);
  const rows: ArchivedRow[] = [];
  const sessions = await sessionsToArchive(db, tenantId, before, after, MAX_SESSIONS);
  let waiting = 0;
  let room = ROOM;
  for (const session of sessions) {
    // First: what comes between the two is newer than what is confirmed.
    const confirmed = await confirmedSeq(env, tenantId, session);
    const wanted = await archivableSeq(db, tenantId, session, before);
    if (confirmed < wanted) waiting += 1;
    const found = await eventsThrough(db, tenantId, session, Math.min(wanted, confirmed), room);
    rows.push(...found.rows);
    ({ room } = found);
    // It may have more: the next step looks at it again.
    if (room.events <= 0 || room.bytes <= 0) return { rows, waiting, more: true, last: after };
  }
  return { rows, waiting, more: sessions.length === MAX_SESSIONS, last: sessions.at(-1) ?? after };
}

async function archiveEvents(env: ApiEnv, scope: Scope): Promise<Pick<ArchiveStep, "files" | "events" | "waiting" | "has_more">> {
  let waiting = 0;
  for (let after = "", more = true; more;) {
    const gathered = await gather(env, scope, after);
    waiting += gathered.waiting;
    if (gathered.rows.length > 0) {
      const file = await putFile(env.CONTENT, scope.tenantId, gathered.rows);
      const moved = await moveToArchive(env.CATALOG, scope.tenantId, file, gathered.rows, Date.now());
      // Someone else was faster: theirs is the file that counts.
      if (!moved) await env.CONTENT.delete(file.key);
      const files = await allArchives(connect(env.CATALOG), scope.tenantId);
      await putManifest(env.CONTENT, scope.tenantId, files);
      return { files: Number(moved), events: moved ? gathered.rows.length : 0, waiting, has_more: true };
    }
    ({ last: after, more } = gathered);
  }
  return { files: 0, events: 0, waiting, has_more: false };
}

/** One step. The events of a day may go before its sums, or after. */
export async function archiveLedger(env: ApiEnv, scope: Scope): Promise<ArchiveStep> {
  const { has_more: more, ...events } = await archiveEvents(env, scope);
  const folded = await foldQuarters(env.CATALOG, scope);
  return { before: formatInstant(scope.before), ...events, quarters: folded.quarters, has_more: more || folded.more };
}

/** Tenants that one run of the sweep looks at, and steps for each of them. */
const TENANTS_AT_ONCE = 3;
const STEPS = 5;

/** What is older than the plane keeps it, of some tenants: by chance, so that one that can't get on holds no other back. */
export async function archiveOld(env: ApiEnv, now: number): Promise<{ events: number; quarters: number }> {
  const before = keptSince(env, now);
  const done = { events: 0, quarters: 0 };
  for (const tenant of await tenantsToArchive(connect(env.CATALOG), before, TENANTS_AT_ONCE)) {
    for (let step = 0, more = true; more && step < STEPS; step++) {
      const { events, quarters, has_more } = await archiveLedger(env, { ...tenant, before });
      done.events += events;
      done.quarters += quarters;
      more = has_more;
    }
  }
  return done;
}

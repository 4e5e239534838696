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
/** Looked at in one step; each is a call of its object and two of D1, of the 1,000 that one invocation may make. */
const MAX_SESSIONS = 50;

const DAY_MS = 86_400_000;

/** A value that makes no sense archives nothing: it is a deployment's fault, and there is no way back. */
export function keptSince({ LEDGER_KEPT_DAYS: days }: Pick<ApiEnv, "LEDGER_KEPT_DAYS">, now: number): number {
  if (!/^[1-9]\d{0,4}$/.test(days)) throw new Error("LEDGER_KEPT_DAYS is no number of days, 1 at least");
  return now - Number(days) * DAY_MS;
}

export type Scope = { readonly tenantId: TenantId; readonly timeZone: string; readonly before: number };
/** `next`: the session after which there may be more; null when there is none. */
type Gathered = { readonly rows: ArchivedRow[]; readonly waiting: number; readonly next: string | null };

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
  const { ids: sessions, next } = await sessionsToArchive(db, tenantId, before, after, MAX_SESSIONS);
  let waiting = 0;
  let room = ROOM;
  let done = after;
  for (const session of sessions) {
    // First: what comes between the two is newer than what is confirmed.
    const confirmed = await confirmedSeq(env, tenantId, session);
    const wanted = await archivableSeq(db, tenantId, session, before);
    if (confirmed < wanted) waiting += 1;
    const found = await eventsThrough(db, tenantId, session, Math.min(wanted, confirmed), room);
    rows.push(...found.rows);
    ({ room } = found);
    // It may have more: the next step looks at it again.
    if (room.events <= 0 || room.bytes <= 0) return { rows, waiting, next: done };
    done = session;
  }
  return { rows, waiting, next };
}

/** False: someone else was faster, and theirs is the file that counts. */
async function store(env: ApiEnv, tenantId: TenantId, rows: readonly ArchivedRow[]): Promise<boolean> {
  const file = await putFile(env.CONTENT, tenantId, rows);
  const isMoved = await moveToArchive(env.CATALOG, tenantId, file, rows, Date.now());
  if (!isMoved) await env.CONTENT.delete(file.key);
  await putManifest(env.CONTENT, tenantId, await allArchives(connect(env.CATALOG), tenantId));
  return isMoved;
}

/** One step, of the sessions after one. The events of a day may go before its sums, or after. */
export async function archiveLedger(env: ApiEnv, scope: Scope, after = ""): Promise<ArchiveStep> {
  const { rows, waiting, next } = await gather(env, scope, after);
  const isStored = rows.length > 0 && (await store(env, scope.tenantId, rows));
  const folded = await foldQuarters(env.CATALOG, scope);
  return {
    before: formatInstant(scope.before),
    files: Number(isStored),
    events: isStored ? rows.length : 0,
    quarters: folded.quarters,
    waiting,
    has_more: next !== null || folded.more,
    next_cursor: next,
  };
}

/** Tenants that one run of the sweep looks at, and steps for each of them. */
const TENANTS_AT_ONCE = 2;
const STEPS = 2;

/** What is older than the plane keeps it, of some tenants: by chance, so that one that can't get on holds no other back. */
export async function archiveOld(env: ApiEnv, now: number): Promise<{ events: number; quarters: number }> {
  const before = keptSince(env, now);
  const done = { events: 0, quarters: 0 };
  for (const tenant of await tenantsToArchive(connect(env.CATALOG), before, TENANTS_AT_ONCE)) {
    let after: string | null = "";
    for (let step = 0; after !== null && step < STEPS; step++) {
      const one: ArchiveStep = await archiveLedger(env, { ...tenant, before }, after);
      done.events += one.events;
      done.quarters += one.quarters;
      after = one.next_cursor;
    }
  }
  return done;
}

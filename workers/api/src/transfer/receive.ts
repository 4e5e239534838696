/**
 * Makes a session of lines that arrive one after the other, from a request or from another session. Nothing
 * of it is there until all of it is: a refusal leaves nothing.
 */
import type { SessionId } from "@sessionplane/shared/ids";
import { NOT_FOUND, type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { Imported, StagedLine } from "@sessionplane/shared/rpc/session-rpc";
import type { SessionSettings } from "@sessionplane/shared/session";
import type { SessionLine, TransferLine } from "@sessionplane/shared/transfer";
import { connect } from "../catalog/db.ts";
import { insertSession } from "../catalog/sessions.ts";
import type { ApiEnv } from "../env.ts";
import { type TenantPrincipal, rulesOf } from "../http/principal.ts";
import { callObject } from "../session-client.ts";
import { policyContradiction } from "../session-policy.ts";
import { untilBroken } from "./until-broken.ts";

export type ReadLine = { readonly line: number; readonly bytes: number; readonly entry: TransferLine };

/** One call to the object: its value must stay well below what workers may hand each other. */
const MAX_CALL_BYTES = 4 * 1024 * 1024;
const MAX_CALL_LINES = 200;
/** Overlays that the answer to a repeated import counts. */
const MAX_COUNTED = 1_000;

/** What the session will be, of what its line says, if there is one. */
export type SettingsFor = (line: SessionLine | null) => SessionSettings;

const TWO_SESSIONS = (line: number): Problem =>
  problem("import_refused", "There is a second session line.", { fields: { line } });

export async function receive(
  env: ApiEnv,
  tenant: TenantPrincipal,
  sessionId: SessionId,
  lines: AsyncIterable<Result<ReadLine, Problem>>,
  settingsFor: SettingsFor,
): Promise<Result<Imported, Problem>> {
  const { tenantId } = tenant;
  let header: SessionLine | null = null;
  let first = true;
  let batch: StagedLine[] = [];
  let bytes = 0;

  const send = async (): Promise<Result<null, Problem>> => {
    const input = { tenant_id: tenantId, session_id: sessionId, first, lines: batch };
    const staged = await callObject(env, tenantId, sessionId, (session) => session.stageImport(input));
    first = false;
    batch = [];
    bytes = 0;
    return staged;
  };
  /** An earlier attempt of this very request made it, and died before its reply. */
  const made = async (): Promise<Result<Imported, Problem>> => {
    const rules = rulesOf(tenant);
    const [session, overlays] = await callObject(env, tenantId, sessionId, (object) =>
      Promise.all([object.describe(rules), object.listOverlays({ limit: MAX_COUNTED })]),
    );
    if (!session.ok || !overlays.ok) return err(NOT_FOUND);
    return ok({ session: session.value, messages: session.value.message_count, overlays: overlays.value.items.length });
  };
  const give = async (refusal: Problem): Promise<Result<Imported, Problem>> => {
    if (refusal.code === "already_exists") return made();
    await callObject(env, tenantId, sessionId, (session) => session.abandonImport());
    return err(refusal);
  };

  for await (const read of untilBroken(lines)) {
    if (!read.ok) return give(read.error);
    const { line, entry } = read.value;
    if (entry.kind === "session") {
      if (header !== null) return give(TWO_SESSIONS(line));
      header = entry;
      continue;
    }
    if (batch.length > 0 && (batch.length >= MAX_CALL_LINES || bytes + read.value.bytes > MAX_CALL_BYTES)) {
      const staged = await send();
      if (!staged.ok) return give(staged.error);
    }
    batch.push({ line, entry });
    bytes += read.value.bytes;
  }
  const settings = settingsFor(header);
  const contradiction = policyContradiction(settings.compaction, tenant);
  if (contradiction !== null) return give(contradiction);
  const staged = await send();
  if (!staged.ok) return give(staged.error);
  const finish = {
    tenant_id: tenantId,
    session_id: sessionId,
    settings,
    created_at: header === null ? Date.now() : Date.parse(header.created_at),
    leaf_id: header?.leaf_id ?? null,
    is_own: header !== null,
    rules: rulesOf(tenant),
  };
  const finished = await callObject(env, tenantId, sessionId, (session) => session.finishImport(finish));
  if (!finished.ok) return give(finished.error);
  // Whose child it is, and that it is there to be asked, holds from now on, whatever becomes of it before its first fact arrives.
  await insertSession(connect(env.CATALOG), tenantId, sessionId, { settings, created_at: finish.created_at, blocks: [] });
  return finished;
}

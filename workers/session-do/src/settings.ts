/** The session itself: opening it, describing it, changing and ending it. */
import { compactionPolicySchema, layerPolicies } from "@sessionplane/shared/compaction-policy";
import { formatInstant, mergeMetadata, metadataSchema } from "@sessionplane/shared/fields";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { Idempotency, OpenSession, TenantRules, Written } from "@sessionplane/shared/rpc/session-rpc";
import { type PatchSession, type Session, type SessionSettings, sessionStatusSchema } from "@sessionplane/shared/session";
import { cancelOpenJob } from "./jobs/stale.ts";
import { compactionState } from "./log/facts.ts";
import type { SessionRow } from "./session-row.ts";
import type { SessionStore } from "./session-store.ts";
import { toSessionUsage } from "./usage/ledger.ts";

/** The first fact of a session is that it exists. */
export const newRow = ({ tenant_id, session_id, settings, created_at }: OpenSession): SessionRow => ({
  tenant_id,
  session_id,
  settings,
  status: "active",
  end_reason: null,
  revision: 1,
  seq: 1,
  projected_seq: 0,
  failures: 0,
  calibration: 1,
  created_at,
  updated_at: created_at,
});

export function describe(store: SessionStore, rules: TenantRules): Session {
  const { row } = store;
  const leaf = store.messages.activeLeaf();
  return {
    id: row.session_id,
    tenant_id: row.tenant_id,
    name: row.settings.name,
    external_id: row.settings.external_id,
    user_id: row.settings.user_id,
    status: sessionStatusSchema.parse(row.status),
    end_reason: row.end_reason,
    parent_session_id: row.settings.parent_session_id,
    model: row.settings.model,
    source: row.settings.source,
    metadata: row.settings.metadata,
    tags: row.settings.tags,
    leaf_id: store.messages.idOf(leaf),
    message_count: store.messages.count(),
    token_estimate: store.historyTokens(leaf),
    usage: toSessionUsage(store.ledger.totals()),
    compaction: {
      threshold: layerPolicies(rules.compaction, row.settings.compaction).threshold,
      state: compactionState(store),
      open_job_id: store.jobs.open()?.id ?? null,
      policy: row.settings.compaction,
      calibration: row.calibration,
    },
    created_at: formatInstant(row.created_at),
    updated_at: formatInstant(store.updatedAt()),
    revision: row.revision,
  };
}

function merged(present: SessionSettings, patch: PatchSession, rules: TenantRules): Result<SessionSettings, Problem> {
  const metadata = metadataSchema.safeParse(mergeMetadata(present.metadata, patch.metadata ?? {}));
  if (!metadata.success) return err(fieldProblem("invalid", "/metadata", metadata.error.issues[0]?.message ?? "too many pairs"));
  const compaction = { ...present.compaction, ...patch.compaction };
  const policy = compactionPolicySchema.safeParse(layerPolicies(rules.compaction, compaction));
  if (!policy.success) {
    const [issue] = policy.error.issues;
    return err(fieldProblem("invalid", `/compaction/${issue?.path.join("/") ?? ""}`, issue?.message ?? "contradicts itself"));
  }
  return ok({
    ...present,
    name: patch.name === undefined ? present.name : patch.name,
    user_id: patch.user_id === undefined ? present.user_id : patch.user_id,
    model: patch.model === undefined ? present.model : patch.model,
    tags: patch.tags ?? present.tags,
    metadata: metadata.data,
    compaction,
  });
}

type Change = { readonly rules: TenantRules; readonly idempotency?: Idempotency };

/** Writes a change of the row once a key: a new revision and a new fact. `decide` may find that nothing changes. */
function change(
  store: SessionStore,
  { rules, idempotency }: Change,
  now: number,
  decide: () => Result<Partial<SessionRow> | null, Problem>,
): Result<Written<Session>, Problem> {
  const effect = () => {
    const patch = decide();
    if (!patch.ok) return patch;
    if (patch.value !== null) {
      store.save({ ...patch.value, revision: store.row.revision + 1, seq: store.sequence.next(), updated_at: now });
    }
    return ok({ reply: describe(store, rules), receipt: "{}" });
  };
  return store.atomically(() => store.keys.once(idempotency, now, effect, () => describe(store, rules)));
}

export const patchSession = (
  store: SessionStore,
  input: Change & { readonly patch: PatchSession; readonly if_match?: number },
  now: number,
): Result<Written<Session>, Problem> =>
  change(store, input, now, () => {
    if (input.if_match !== undefined && input.if_match !== store.row.revision) return err(STALE);
    const settings = merged(store.row.settings, input.patch, input.rules);
    return settings.ok ? ok({ settings: settings.value }) : settings;
  });

/** Also the end of an open job. A second end keeps the first reason, and is no change. */
export const endSession = (
  store: SessionStore,
  input: Change & { readonly reason: string },
  now: number,
): Result<Written<Session>, Problem> =>
  change(store, input, now, () => {
    if (store.row.status === "ended") return ok(null);
    cancelOpenJob(store, now);
    return ok({ status: "ended", end_reason: input.reason });
  });

export const STALE = problem("precondition_failed", "The session is not at the revision that If-Match names.");

/**
 * The SQL that applies facts to D1, each statement with one JSON parameter. The order matters: rollups
 * are counted from events that are not there yet, so they come before the events, in the same batch. A
 * repeated fact changes nothing, an older one never overwrites a newer.
 */

/** Told again after it went to the archive: it is counted. */
const IS_ARCHIVED = (row: string): string => `EXISTS (SELECT 1 FROM archived_usage AS a
  WHERE a.tenant_id = ${row}->>'$.tenant' AND a.session_id = ${row}->>'$.session' AND a.through_seq >= (${row}->>'$.seq'))`;

/** ?1: `[{tenant, session, seq, recorded, bucket, event, list, billed, unpriced, inconsistent}]`, each event once. */
export const ADD_TO_ROLLUPS = `
INSERT INTO usage_rollups (tenant_id, bucket, session_id, user_id, provider, model, purpose, class,
  events, quantity, list_nano, billed_nano, unpriced_events)
SELECT e.value->>'$.tenant', e.value->>'$.bucket', e.value->>'$.session', coalesce(e.value->>'$.event.user_id', ''),
  e.value->>'$.event.provider', e.value->>'$.event.model', e.value->>'$.event.purpose', l.value->>'$.class',
  sum((l.key = 0) * ((e.value->>'$.event.adjustment.of') IS NULL)), sum(l.value->>'$.quantity'), sum(coalesce(l.value->>'$.list_nano', 0)),
  sum(coalesce(l.value->>'$.billed_nano', 0)), sum((l.key = 0) * (e.value->>'$.unpriced'))
FROM json_each(?1) AS e, json_each(e.value, '$.event.lines') AS l
WHERE NOT EXISTS (
  SELECT 1 FROM usage_events AS u
  WHERE u.tenant_id = e.value->>'$.tenant' AND u.session_id = e.value->>'$.session' AND u.event_id = e.value->>'$.event.id')
AND NOT ${IS_ARCHIVED("e.value")}
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
ON CONFLICT (tenant_id, bucket, session_id, user_id, provider, model, purpose, class) DO UPDATE SET
  events = events + excluded.events, quantity = quantity + excluded.quantity, list_nano = list_nano + excluded.list_nano,
  billed_nano = billed_nano + excluded.billed_nano, unpriced_events = unpriced_events + excluded.unpriced_events`;

/** ?1 as above. */
export const ADD_EVENTS = `
INSERT INTO usage_events (tenant_id, session_id, event_id, seq, user_id, provider, model, purpose, status,
  occurred_at, recorded_at, list_nano, billed_nano, unpriced, adjusts, inconsistent, event)
SELECT value->>'$.tenant', value->>'$.session', value->>'$.event.id', value->>'$.seq', value->>'$.event.user_id',
  value->>'$.event.provider', value->>'$.event.model', value->>'$.event.purpose', value->>'$.event.status',
  value->>'$.event.occurred_at', value->>'$.recorded', value->>'$.list', value->>'$.billed', value->>'$.unpriced', value->>'$.event.adjustment.of',
  value->>'$.inconsistent', value->'$.event'
FROM json_each(?1) WHERE NOT ${IS_ARCHIVED("value")}
ON CONFLICT DO NOTHING`;

/** ?1: `[{tenant, session, fact}]`, the newest fact of each session. */
export const UPDATE_SESSIONS = `
INSERT INTO sessions (id, tenant_id, external_id, name, user_id, model, source, status, parent_session_id, metadata, tags,
  settings, end_reason, leaf_id, message_count, token_estimate, compaction_state, open_job_id,
  usage_events, input_tokens, output_tokens, list_nano, billed_nano, unpriced_events, revision, seq, swept_at, created_at, updated_at)
SELECT value->>'$.session', value->>'$.tenant', value->>'$.fact.settings.external_id', value->>'$.fact.settings.name',
  value->>'$.fact.settings.user_id', value->>'$.fact.settings.model', value->>'$.fact.settings.source', value->>'$.fact.status',
  value->>'$.fact.settings.parent_session_id', value->'$.fact.settings.metadata', value->'$.fact.settings.tags',
  value->'$.fact.settings', value->>'$.fact.end_reason', value->>'$.fact.leaf_id', value->>'$.fact.message_count',
  value->>'$.fact.token_estimate', value->>'$.fact.compaction_state', value->>'$.fact.open_job_id',
  value->>'$.fact.usage.events', value->>'$.fact.usage.input_tokens', value->>'$.fact.usage.output_tokens',
  value->>'$.fact.usage.list_nano', value->>'$.fact.usage.billed_nano', value->>'$.fact.usage.unpriced_events',
  value->>'$.fact.revision', value->>'$.fact.seq', value->>'$.fact.created_at', value->>'$.fact.created_at', value->>'$.fact.updated_at'
FROM json_each(?1) WHERE true
ON CONFLICT (id) DO UPDATE SET
  external_id = excluded.external_id, name = excluded.name, user_id = excluded.user_id, model = excluded.model, source = excluded.source, status = excluded.status,
  metadata = excluded.metadata, tags = excluded.tags, settings = excluded.settings, end_reason = excluded.end_reason,
  leaf_id = excluded.leaf_id, message_count = excluded.message_count, token_estimate = excluded.token_estimate,
  compaction_state = excluded.compaction_state, open_job_id = excluded.open_job_id,
  usage_events = excluded.usage_events, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,
  list_nano = excluded.list_nano, billed_nano = excluded.billed_nano, unpriced_events = excluded.unpriced_events,
  revision = excluded.revision, blocks = NULL, seq = excluded.seq, updated_at = excluded.updated_at
WHERE excluded.seq > sessions.seq AND excluded.tenant_id = sessions.tenant_id`;

/** ?1: `[{tenant, session, seq, created, updated, job}]`, the newest fact of each job. */
export const UPDATE_JOBS = `
INSERT INTO compaction_jobs (id, tenant_id, session_id, state, seq, job, created_at, updated_at)
SELECT value->>'$.job.id', value->>'$.tenant', value->>'$.session', value->>'$.job.state', value->>'$.seq', value->'$.job',
  value->>'$.created', value->>'$.updated'
FROM json_each(?1) WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = value->>'$.session' AND status = 'erased')
ON CONFLICT (id) DO UPDATE SET state = excluded.state, seq = excluded.seq, job = excluded.job, updated_at = excluded.updated_at
WHERE excluded.seq > compaction_jobs.seq AND excluded.tenant_id = compaction_jobs.tenant_id`;

/** ?1: `[{tenant, session, fact}]` of sessions that were erased. */
export const DELETE_JOBS = `
DELETE FROM compaction_jobs WHERE (session_id, tenant_id) IN (SELECT value->>'$.session', value->>'$.tenant' FROM json_each(?1))`;

/**
 * ?1: `[{tenant, session, seed, made}]`. The replies to the requests that made them, which hold what they were
 * called: a session has the claim's moment, and its id.
 */
export const FORGET_REPLIES = `
UPDATE idempotency SET body = json_object('erased', value->>'$.session') FROM json_each(?1)
WHERE owner = value->>'$.tenant' AND resource_seed = value->>'$.seed' AND body IS NOT NULL
  AND created_at BETWEEN (value->>'$.made') - 60000 AND (value->>'$.made') + 60000`;

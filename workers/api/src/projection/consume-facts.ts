/**
 * `catalog-events` → D1 and the tenants' search, exactly once in effect. Called by the worker's queue handler; never throws: a
 * throw would make the local queue deliver what is acknowledged again. Exact reports apply facts by the same statements.
 */
import { type FactBatch, factBatchSchema } from "@sessionplane/shared/queue/fact";
import type { ApiEnv } from "../env.ts";
import { logError } from "../log.ts";
import { callObject } from "../session-client.ts";
import { applyTexts } from "./apply-texts.ts";
import { claimOf, rowsOf } from "./rows.ts";
import { ADD_EVENTS, ADD_TO_ROLLUPS, DELETE_JOBS, FORGET_REPLIES, UPDATE_JOBS, UPDATE_SESSIONS } from "./statements.ts";

/** D1 refuses a parameter over 2 MB; messages are at most 128 KB. */
const MAX_BATCH_BYTES = 1_000_000;
const RETRY_SECONDS = 2;

type Delivery = { readonly message: Message; readonly batch: FactBatch };

function parse(message: Message): Delivery | null {
  const parsed = factBatchSchema.safeParse(message.body);
  if (parsed.success) return { message, batch: parsed.data };
  // Not ours, or of a version that is gone: the object sends its facts again in the present one.
  logError("fact_batch_refused", parsed.error, { message_id: message.id });
  message.ack();
  return null;
}

/** In groups whose facts fit one parameter. */
export function inGroups<T>(items: readonly T[], batchOf: (item: T) => FactBatch): T[][] {
  const groups: T[][] = [];
  let bytes = Infinity;
  for (const item of items) {
    const size = JSON.stringify(batchOf(item)).length;
    if (bytes + size > MAX_BATCH_BYTES) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)?.push(item);
    bytes += size;
  }
  return groups;
}

/** One D1 batch for all facts of the group: all of it holds, or none. */
export async function applyFacts(catalog: D1Database, batches: readonly FactBatch[]): Promise<void> {
  const rows = rowsOf(batches);
  const erased = rows.sessions.filter(({ fact }) => fact.status === "erased");
  const of = (items: readonly object[], ...statements: string[]) =>
    items.length === 0 ? [] : statements.map((sql) => catalog.prepare(sql).bind(JSON.stringify(items)));
  const statements = [
    ...of(rows.usage, ADD_TO_ROLLUPS, ADD_EVENTS),
    ...of(rows.sessions, UPDATE_SESSIONS),
    ...of(rows.jobs, UPDATE_JOBS),
    ...of(erased, DELETE_JOBS),
    ...of(erased.map(claimOf), FORGET_REPLIES),
  ];
  if (statements.length > 0) await catalog.batch(statements);
}

/** Tells the object that the catalog and the search have it. When that fails the facts come again, and change nothing. */
async function confirm(env: ApiEnv, { batch }: Delivery): Promise<void> {
  try {
    await callObject(env, batch.tenant_id, batch.session_id, (session) => session.projected(batch.after_seq, batch.to_seq));
  } catch (error) {
    logError("projection_not_confirmed", error, { session_id: batch.session_id });
  }
}

async function applyGroup(env: ApiEnv, group: readonly Delivery[]): Promise<void> {
  try {
    await applyFacts(
      env.CATALOG,
      group.map((delivery) => delivery.batch),
    );
  } catch (error) {
    logError("projection_failed", error, { messages: group.length });
    for (const { message } of group) message.retry({ delaySeconds: RETRY_SECONDS });
    return;
  }
  const fed = await applyTexts(
    env,
    group.map((delivery) => delivery.batch),
  );
  const done = group.filter(({ batch }) => fed.has(batch.tenant_id));
  await Promise.all(done.map((delivery) => confirm(env, delivery)));
  for (const { message, batch } of group) {
    if (fed.has(batch.tenant_id)) message.ack();
    else message.retry({ delaySeconds: RETRY_SECONDS });
  }
}

export async function consumeFacts(env: ApiEnv, messages: readonly Message[]): Promise<void> {
  const deliveries = messages.map(parse).filter((delivery) => delivery !== null);
  for (const group of inGroups(deliveries, ({ batch }) => batch)) await applyGroup(env, group);
}

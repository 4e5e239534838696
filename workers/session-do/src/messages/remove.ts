/** Deleting messages, and clearing the session of all. */
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { AfterWrite, DeleteMessages, DeletedMessages, Idempotency, Written } from "@sessionplane/shared/rpc/session-rpc";
import type { Source } from "@sessionplane/shared/message";
import { checkClientRole, holdsReserved } from "@sessionplane/engine/messages/client-source";
import { takeBackOverlay } from "../jobs/overlays.ts";
import { queueJob } from "../jobs/queue-job.ts";
import { renewalOfDropped } from "../jobs/renew.ts";
import { endOpenJob } from "../jobs/stale.ts";
import type { SessionStore } from "../session-store.ts";
import { afterWrite, compactIfDue, policyFor } from "./after-write.ts";
import { checkOpen, storedMessage } from "./write-checks.ts";

const RESERVED = problem("reserved_metadata", "The message holds metadata that only the server sets: a client can't remove it.");

/** A client may remove what it may write. */
function checkRoles(store: SessionStore, seqs: readonly number[], input: DeleteMessages): Problem | null {
  if (input.source === "server") return null;
  for (const seq of seqs) {
    const refused = checkClientRole(store.messages.meta(seq)?.role ?? "", input.rules, "");
    if (refused !== null) return problem(refused.code, refused.detail);
    const message = storedMessage(store, store.messages.idOf(seq) ?? "");
    if (message !== null && holdsReserved(message, input.rules)) return RESERVED;
  }
  return null;
}

function removed(store: SessionStore, input: DeleteMessages, now: number): Result<DeletedMessages, Problem> {
  const closed = checkOpen(store);
  if (closed !== null) return err(closed);
  const found = new Map(input.ids.map((id) => [id, store.messages.seqOf(id)]));
  const seqs = [...found.values()].filter((seq) => seq !== null);
  const refused = checkRoles(store, seqs, input);
  if (refused !== null) return err(refused);
  const results = [...found].map(([id, seq]) => ({ id, deleted: seq !== null }));
  if (seqs.length === 0) return ok({ results, ...afterWrite(store) });
  // A summary must not keep what was removed: it goes too, and what it stood for shows.
  const dropped = store.overlaysOver(seqs);
  for (const overlay of dropped) takeBackOverlay(store, overlay);
  store.messages.remove(seqs, now);
  store.search.delete(seqs);
  store.skills.drop(seqs);
  store.faults.hit("remove:removed");
  for (const seq of seqs) store.media.refer(seq, [], now);
  const gone = results.flatMap(({ id, deleted }) => (deleted ? [id] : []));
  store.events.note(store.messages.changedSeq(), "delete", { ids: gone });
  store.trigger.forget();
  const policy = policyFor(store, input.rules);
  const [largest] = dropped.toSorted((a, b) => b.messages - a.messages);
  const isFree = largest !== undefined && store.trigger.isFree(store, policy);
  const renewal = isFree ? renewalOfDropped(store, largest, policy) : null;
  if (renewal !== null) queueJob(store, renewal, now);
  return ok({ results, ...compactIfDue(store, policy, now) });
}

type Receipt = DeletedMessages["results"];

export function deleteMessages(
  store: SessionStore,
  input: DeleteMessages,
  now: number,
): Result<Written<DeletedMessages>, Problem> {
  const effect = () => {
    const reply = removed(store, input, now);
    return reply.ok ? ok({ reply: reply.value, receipt: JSON.stringify(reply.value.results satisfies Receipt) }) : reply;
  };
  const replay = (receipt: string) => ({ results: JSON.parse(receipt) as Receipt, ...afterWrite(store) });
  return store.atomically(() => store.keys.once(input.idempotency, now, effect, replay));
}

const SERVER_ONLY = problem("role_not_allowed", "A client may remove only messages that it may write, one by one.");

export function clearMessages(
  store: SessionStore,
  input: { readonly source: Source; readonly idempotency: Idempotency },
  now: number,
): Result<Written<AfterWrite>, Problem> {
  const effect = () => {
    const refused = checkOpen(store) ?? (input.source === "client" ? SERVER_ONLY : null);
    if (refused !== null) return err(refused);
    endOpenJob(store, now);
    store.overlays.clear();
    store.messages.clear(now);
    store.media.clear(now);
    store.events.note(store.messages.changedSeq(), "clear", {});
    store.search.clear();
    store.skills.clear();
    store.noteRewritten();
    return ok({ reply: afterWrite(store), receipt: "{}" });
  };
  return store.atomically(() => store.keys.once(input.idempotency, now, effect, () => afterWrite(store)));
}

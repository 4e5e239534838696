/** `append`: validation first, then every write in one turn. */
import { compactionPolicySchema, layerPolicies } from "@sessionplane/shared/compaction-policy";
import { isReservedMessageId } from "@sessionplane/shared/ids";
import { type Message, messageSchema } from "@sessionplane/shared/message";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { AppendMessages, Appended, Written } from "@sessionplane/shared/rpc/session-rpc";
import type { Trigger } from "../jobs/plan-job.ts";
import type { SessionStore } from "../session-store.ts";
import { admit } from "./client-source.ts";

const ENDED = problem("session_ended", "The session has ended and takes no more messages.");

function reservedId(messages: readonly Message[]): Problem | null {
  const index = messages.findIndex((message) => isReservedMessageId(message.id));
  return index === -1
    ? null
    : fieldProblem("reserved_message_id", `/messages/${index}/id`, "ids that begin with compaction_ or ovl_ are reserved");
}

/** Where the first message hangs: 0 is a new root. */
function parentSeq(store: SessionStore, parentId: string | null | undefined): Result<number, Problem> {
  if (parentId === undefined) return ok(store.activeLeaf());
  if (parentId === null) return ok(0);
  const seq = store.messages.seqOf(parentId);
  return seq === null
    ? err(fieldProblem("unknown_parent", "/parent_id", `${parentId} is not a message of this session`))
    : ok(seq);
}

const stored = (store: SessionStore, id: string): Message => {
  const row = store.messages.find(id);
  if (row === null) throw new Error("a message that was there is gone");
  return messageSchema.parse(JSON.parse(row.json));
};

type OneResult = Appended["results"][number];

/** Each message below the one before it; a message that was there already is the parent of the next. */
function writeAll(store: SessionStore, messages: readonly Message[], parent: number, now: number): OneResult[] {
  let below = parent;
  return messages.map((message) => {
    const { seq, inserted } = store.messages.append(message, below, now);
    below = seq;
    return { id: message.id, inserted, message: inserted ? message : stored(store, message.id) };
  });
}

function replyOf(store: SessionStore, results: OneResult[]): Appended {
  const leaf = store.activeLeaf();
  return {
    results,
    leaf_id: leafId(store, leaf),
    token_estimate: store.historyTokens(leaf),
    compaction_job_id: store.jobs.open()?.id ?? null,
  };
}

export function leafId(store: SessionStore, leafSeq: number): string | null {
  if (leafSeq === 0) return null;
  const newest = store.messages.newest();
  return newest?.seq === leafSeq ? newest.id : store.messages.meta(leafSeq).id;
}

/** The receipt of a keyed append: what each message's result was. */
const receiptOf = (results: readonly OneResult[]): string => JSON.stringify(results.map(({ id, inserted }) => [id, inserted]));

const replay = (store: SessionStore, receipt: string): Appended => {
  const results = (JSON.parse(receipt) as [string, boolean][]).map(([id, inserted]) => ({
    id,
    inserted,
    message: stored(store, id),
  }));
  return replyOf(store, results);
};

export function append(
  store: SessionStore,
  trigger: Trigger,
  input: AppendMessages,
  now: number,
): Result<Written<Appended>, Problem> {
  if (store.row.status === "ended") return err(ENDED);
  const reserved = reservedId(input.messages);
  if (reserved !== null) return err(reserved);
  const admitted = admit(input.messages, input.source, input.rules);
  if (!admitted.ok) return admitted;
  const parent = parentSeq(store, input.parent_id);
  if (!parent.ok) return parent;
  const policy = compactionPolicySchema.safeParse(layerPolicies(input.rules.compaction, store.row.settings.compaction));

  const effect = () => {
    const results = writeAll(store, admitted.value, parent.value, now);
    const leaf = store.activeLeaf();
    // A tenant's later change may contradict the session's policy: then nothing is compacted by itself.
    if (policy.success && results.some((one) => one.inserted)) {
      trigger.afterAppend(store, leaf, store.historyTokens(leaf), policy.data, now);
    }
    return ok({ reply: replyOf(store, results), receipt: receiptOf(results) });
  };
  const write = () => store.keys.once(input.idempotency, now, effect, (receipt) => replay(store, receipt));
  // One message on the last run, without a key, is one statement: a transaction would only cost time.
  const plain = input.messages.length === 1 && input.idempotency === undefined && store.messages.isPlain(parent.value);
  return plain ? write() : store.atomically(write);
}

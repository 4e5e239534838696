/** `append`: validation first, then every write in one turn. */
import { type CompactionPolicy, layerPolicies } from "@sessionplane/shared/compaction-policy";
import { isReservedMessageId } from "@sessionplane/shared/ids";
import { type Message, messageSchema } from "@sessionplane/shared/message";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { AppendMessages, Appended, Written } from "@sessionplane/shared/rpc/session-rpc";
import type { MessageDraft } from "@sessionplane/engine/storage/sqlite/messages";
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
function writeAll(store: SessionStore, drafts: readonly MessageDraft[], parent: number, now: number): OneResult[] {
  let below = parent;
  return drafts.map((draft) => {
    const { seq, inserted } = store.messages.append(draft, below, now);
    below = seq;
    const { id } = draft.message;
    return { id, inserted, message: inserted ? draft.message : stored(store, id) };
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

type Accepted = { readonly drafts: readonly MessageDraft[]; readonly parent: number; readonly policy: CompactionPolicy };

/** Everything that can refuse the write, before its first row. */
function accept(store: SessionStore, input: AppendMessages): Result<Accepted, Problem> {
  if (store.row.status === "ended") return err(ENDED);
  const reserved = reservedId(input.messages);
  if (reserved !== null) return err(reserved);
  const admitted = admit(input.messages, input.source, input.rules);
  if (!admitted.ok) return admitted;
  const parent = parentSeq(store, input.parent_id);
  if (!parent.ok) return parent;
  const drafts = admitted.value.map((message) => store.messages.draft(message));
  return ok({ drafts, parent: parent.value, policy: layerPolicies(input.rules.compaction, store.row.settings.compaction) });
}

/** One message on the last run and no job after it is one statement: a transaction would only cost time. */
function isPlain(store: SessionStore, { drafts, parent, policy }: Accepted): boolean {
  const [draft] = drafts;
  if (draft === undefined || drafts.length > 1 || !store.messages.isPlain(draft, parent)) return false;
  return !store.trigger.isDue(store, store.historyTokens(parent) + draft.tokens, policy);
}

function perform(store: SessionStore, { drafts, parent, policy }: Accepted, now: number): { reply: Appended; receipt: string } {
  const results = writeAll(store, drafts, parent, now);
  store.faults.hit("append:inserted");
  const reply = replyOf(store, results);
  const receipt = receiptOf(results);
  const inserted = results.some((one) => one.inserted);
  if (!inserted || !store.trigger.isDue(store, reply.token_estimate, policy)) return { reply, receipt };
  const job = store.trigger.fire(store, policy, now);
  return { reply: { ...reply, compaction_job_id: job?.id ?? null }, receipt };
}

export function append(store: SessionStore, input: AppendMessages, now: number): Result<Written<Appended>, Problem> {
  const { idempotency } = input;
  if (idempotency === undefined) {
    const accepted = accept(store, input);
    if (!accepted.ok) return accepted;
    const write = () => ok({ value: perform(store, accepted.value, now).reply, replayed: false });
    return isPlain(store, accepted.value) ? write() : store.atomically(write);
  }
  // A repetition is answered before anything may refuse it: the session may have ended since.
  const effect = () => {
    const accepted = accept(store, input);
    return accepted.ok ? ok(perform(store, accepted.value, now)) : accepted;
  };
  return store.atomically(() => store.keys.once(idempotency, now, effect, (receipt) => replay(store, receipt)));
}

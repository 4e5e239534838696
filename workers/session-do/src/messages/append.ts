/** `append`: validation first, then every write in one turn. */
import type { CompactionPolicy } from "@sessionplane/shared/compaction-policy";
import { isReservedMessageId } from "@sessionplane/shared/ids";
import type { Message } from "@sessionplane/shared/message";
import { type Problem, fieldProblem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { AppendMessages, Appended, Written } from "@sessionplane/shared/rpc/session-rpc";
import { admitFromClient } from "@sessionplane/engine/messages/client-source";
import { skillCallsOf } from "@sessionplane/engine/context/skill-calls";
import type { MessageDraft } from "@sessionplane/engine/messages/draft";
import { type Uploads, bytesStored, checkUploads, draftFor, keepMedia } from "@sessionplane/engine/messages/intake";
import { staleOverlay } from "../jobs/renew.ts";
import type { SessionStore } from "../session-store.ts";
import { afterWrite, compactIfDue, policyFor } from "./after-write.ts";
import { checkOpen, checkRoom, parentSeq, storedMessage } from "./write-checks.ts";

const at = (index: number): string => `/messages/${index}`;

function checkIds(messages: readonly Message[]): Problem | null {
  const seen = new Set<string>();
  for (const [index, { id }] of messages.entries()) {
    if (isReservedMessageId(id))
      return fieldProblem("reserved_message_id", `${at(index)}/id`, "ids that begin with compaction_ or ovl_ are reserved");
    if (seen.has(id)) return fieldProblem("duplicate_message_id", `${at(index)}/id`, `${id} is in this request already`);
    seen.add(id);
  }
  return null;
}

function admit({ messages, source, rules }: AppendMessages): Result<readonly Message[], Problem> {
  if (source === "server") return ok(messages);
  const admitted: Message[] = [];
  for (const [index, message] of messages.entries()) {
    const result = admitFromClient(message, null, rules, at(index));
    if (!result.ok) return result;
    admitted.push(result.value);
  }
  return ok(admitted);
}

function draftAll(store: SessionStore, messages: readonly Message[], uploads: Uploads): Result<readonly MessageDraft[], Problem> {
  const drafts: MessageDraft[] = [];
  let bytes = 0;
  for (const [index, message] of messages.entries()) {
    const draft = draftFor(store.media, message, { sessionId: store.row.session_id, seq: null, at: at(index) });
    if (!draft.ok) return draft;
    const lost = checkUploads(store.media, draft.value, uploads);
    if (lost !== null) return err(lost);
    bytes += bytesStored(store.media, draft.value);
    drafts.push(draft.value);
  }
  const full = checkRoom(store, bytes);
  return full === null ? ok(drafts) : err(full);
}

type Accepted = {
  readonly drafts: readonly MessageDraft[];
  readonly parent: number;
  readonly policy: CompactionPolicy;
  readonly uploads: Uploads;
};

/** Everything that can refuse the write, before its first row. */
function accept(store: SessionStore, input: AppendMessages, uploads: Uploads): Result<Accepted, Problem> {
  const refused = checkOpen(store) ?? checkIds(input.messages);
  if (refused !== null) return err(refused);
  const admitted = admit(input);
  if (!admitted.ok) return admitted;
  const parent = parentSeq(store, input.parent_id);
  if (!parent.ok) return parent;
  const drafts = draftAll(store, admitted.value, uploads);
  if (!drafts.ok) return drafts;
  return ok({ drafts: drafts.value, parent: parent.value, policy: policyFor(store, input.rules), uploads });
}

type OneResult = Appended["results"][number];

/** What was stored before and is shown in one reply: workers hand each other 32 MiB at most. */
const MAX_SHOWN_BYTES = 8 * 1024 * 1024;

/** Shows stored messages until they are too much for one reply. */
function shower(store: SessionStore): (id: string) => Message | null {
  let room = MAX_SHOWN_BYTES;
  return (id) => {
    room -= store.messages.meta(store.messages.seqOf(id) ?? 0)?.bytes ?? 0;
    return room < 0 ? null : storedMessage(store, id);
  };
}

/** Each message below the one before it; a message that was there already is the parent of the next. */
function writeAll(store: SessionStore, { drafts, parent, uploads }: Accepted, now: number): OneResult[] {
  const show = shower(store);
  let below = parent;
  return drafts.map((draft) => {
    const { seq, inserted } = store.messages.append(draft, below, now);
    below = seq;
    if (inserted) store.search.put(seq, draft.message);
    if (inserted && draft.callIds !== null) store.skills.note(seq, draft.message, now);
    if (inserted && draft.left.refs.length > 0) keepMedia(store.media, seq, draft, uploads, now);
    const { id } = draft.message;
    return { id, inserted, message: inserted ? draft.message : show(id) };
  });
}

/** The receipt of a keyed append: what each message's result was. */
const receiptOf = (results: readonly OneResult[]): string => JSON.stringify(results.map(({ id, inserted }) => [id, inserted]));

function replay(store: SessionStore, receipt: string): Appended {
  const show = shower(store);
  const results = (JSON.parse(receipt) as [string, boolean][]).map(([id, inserted]) => ({ id, inserted, message: show(id) }));
  return { results, ...afterWrite(store) };
}

/** One statement, nothing beside it: no transaction is needed. */
function isPlain(store: SessionStore, { drafts, parent, policy }: Accepted): boolean {
  const [draft] = drafts;
  if (draft === undefined || drafts.length > 1 || !store.messages.isPlain(draft, parent)) return false;
  if (store.search.covers(store.sequence.head + 1)) return false;
  if (staleOverlay(store) !== undefined) return false;
  if (draft.callIds !== null && skillCallsOf(draft.message).length > 0) return false;
  return !store.trigger.isDue(store, store.historyTokens(parent) + draft.tokens, policy);
}

function perform(store: SessionStore, accepted: Accepted, now: number): Appended {
  const results = writeAll(store, accepted, now);
  store.faults.hit("append:inserted");
  const inserted = results.some((one) => one.inserted);
  return { results, ...(inserted ? compactIfDue(store, accepted.policy, now) : afterWrite(store)) };
}

export function append(
  store: SessionStore,
  input: AppendMessages,
  uploads: Uploads,
  now: number,
): Result<Written<Appended>, Problem> {
  const { idempotency } = input;
  if (idempotency === undefined) {
    const accepted = accept(store, input, uploads);
    if (!accepted.ok) return accepted;
    const write = () => ok({ value: perform(store, accepted.value, now), replayed: false });
    return isPlain(store, accepted.value) ? write() : store.atomically(write);
  }
  // A repetition is answered before anything may refuse it: the session may have ended since.
  const effect = () => {
    const accepted = accept(store, input, uploads);
    if (!accepted.ok) return accepted;
    const reply = perform(store, accepted.value, now);
    return ok({ reply, receipt: receiptOf(reply.results) });
  };
  return store.atomically(() => store.keys.once(idempotency, now, effect, (receipt) => replay(store, receipt)));
}

/** `put` and `patch`: other content for a message that is there. Its place in the tree never changes. */
import type { Message } from "@sessionplane/shared/message";
import { NOT_FOUND, type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { IfMatch, PatchMessage, PutMessage, Written, WrittenMessage } from "@sessionplane/shared/rpc/session-rpc";
import { admitFromClient } from "@sessionplane/engine/messages/client-source";
import type { MessageDraft } from "@sessionplane/engine/messages/draft";
import { type Uploads, bytesStored, checkUploads, draftFor, hasRefs, keepMedia } from "@sessionplane/engine/messages/intake";
import { withToolResult } from "@sessionplane/engine/messages/tool-result";
import type { SessionStore } from "../session-store.ts";
import { afterWrite, compactIfDue, policyFor } from "./after-write.ts";
import { append } from "./append.ts";
import { checkOpen, checkRoom, storedMessage } from "./write-checks.ts";

const STALE = problem("precondition_failed", "The message is not what If-Match or If-None-Match asks for.");
const ANSWERED = problem("tool_call_closed", "The tool call has its result already.");

/** The write, and what was uploaded for it. */
type Edit<T> = { readonly input: T; readonly uploads: Uploads; readonly now: number };

/** What to store for a message, and where it is stored already. */
type Change = { readonly seq: number; readonly draft: MessageDraft; readonly isSame: boolean };

const versionOf = (store: SessionStore, id: string): number => store.messages.versionOf(store.messages.seqOf(id) ?? 0);

/** The stored message that a write is about: null when it may be written anew. */
function present(store: SessionStore, id: string, ifMatch: IfMatch | undefined): Result<Message | null, Problem> {
  const stored = storedMessage(store, id);
  if (ifMatch === undefined) return ok(stored);
  if (ifMatch === "none") return stored === null ? ok(null) : err(STALE);
  if (stored === null) return err(STALE);
  return ifMatch === "any" || ifMatch === versionOf(store, id) ? ok(stored) : err(STALE);
}

function changeTo(store: SessionStore, message: Message, at: string): Result<Change, Problem> {
  const seq = store.messages.seqOf(message.id) ?? 0;
  const draft = draftFor(store.media, message, { sessionId: store.row.session_id, seq, at });
  if (!draft.ok) return draft;
  const isSame = store.messages.holds(seq, draft.value) && hasRefs(store.media, seq, draft.value);
  return ok({ seq, draft: draft.value, isSame });
}

/** Writes other content. Overlays that stand for the message go on standing, and say that they are stale. */
function replace(store: SessionStore, { seq, draft }: Change, { uploads, now }: Edit<unknown>): Problem | null {
  const before = store.messages.meta(seq);
  const gain = bytesStored(store.media, draft) - (before?.bytes ?? 0);
  const refused = checkRoom(store, gain) ?? checkUploads(store.media, draft, uploads);
  if (refused !== null) return refused;
  const held = draft.callIds === null ? null : storedMessage(store, draft.message.id);
  store.messages.replace(seq, draft, now);
  store.search.put(seq, draft.message);
  store.skills.note(seq, draft.message, now, held);
  store.faults.hit("edit:replaced");
  keepMedia(store.media, seq, draft, uploads, now);
  for (const overlay of store.overlaysOver([seq])) store.overlays.markStale(overlay.id, draft.tokens - (before?.tokens ?? 0));
  store.events.note(store.messages.changedSeq(), "update", { message_id: draft.message.id });
  store.trigger.forget();
  return null;
}

function edit(
  store: SessionStore,
  change: Change,
  { input, uploads, now }: Edit<PutMessage | PatchMessage>,
): Result<WrittenMessage, Problem> {
  const { message } = change.draft;
  const refused = change.isSame ? null : replace(store, change, { input, uploads, now });
  if (refused !== null) return err(refused);
  const after = change.isSame ? afterWrite(store) : compactIfDue(store, policyFor(store, input.rules), now);
  return ok({
    id: message.id,
    message,
    version: versionOf(store, message.id),
    inserted: false,
    changed: !change.isSame,
    ...after,
  });
}

function insert(store: SessionStore, { input, uploads, now }: Edit<PutMessage>): Result<WrittenMessage, Problem> {
  const { message, if_match: _ifMatch, idempotency: _idempotency, ...rest } = input;
  const appended = append(store, { ...rest, messages: [message] }, uploads, now);
  if (!appended.ok) return appended;
  const { results, ...after } = appended.value.value;
  const stored = results[0]?.message ?? null;
  return ok({ id: message.id, message: stored, version: versionOf(store, message.id), inserted: true, changed: true, ...after });
}

function put(store: SessionStore, write: Edit<PutMessage>): Result<WrittenMessage, Problem> {
  const { message, source, rules, if_match: ifMatch } = write.input;
  const closed = checkOpen(store);
  if (closed !== null) return err(closed);
  const stored = present(store, message.id, ifMatch);
  if (!stored.ok) return stored;
  if (stored.value === null) return insert(store, write);
  const admitted = source === "server" ? ok(message) : admitFromClient(message, stored.value, rules, "/message");
  if (!admitted.ok) return admitted;
  const change = changeTo(store, admitted.value, "/message");
  return change.ok ? edit(store, change.value, write) : change;
}

/** The pointer of a refusal names a place of the message; the caller sent only what belongs into one part. */
const inPatch = (refusal: Problem): Problem => ({
  ...refusal,
  ...(refusal.errors && { errors: refusal.errors.map((one) => ({ ...one, pointer: one.pointer.replace(/^\/parts\/\d+/, "") })) }),
});

function patch(store: SessionStore, write: Edit<PatchMessage>): Result<WrittenMessage, Problem> {
  const { id, source, if_match: ifMatch, patch: result } = write.input;
  const closed = checkOpen(store);
  if (closed !== null) return err(closed);
  const stored = present(store, id, ifMatch);
  if (!stored.ok) return stored;
  if (stored.value === null) return err(NOT_FOUND);
  const merged = withToolResult(stored.value, result, source);
  if (!merged.ok) return merged;
  const change = changeTo(store, merged.value.message, "");
  if (!change.ok) return err(inPatch(change.error));
  // The same result again is no second one.
  if (source === "client" && merged.value.wasAnswered && !change.value.isSame) return err(ANSWERED);
  return edit(store, change.value, write);
}

type Receipt = { readonly id: string; readonly inserted: boolean; readonly changed: boolean };

function replay(store: SessionStore, receipt: string): WrittenMessage {
  const { id, ...was } = JSON.parse(receipt) as Receipt;
  return { id, message: storedMessage(store, id), version: versionOf(store, id), ...was, ...afterWrite(store) };
}

/** In one transaction, once a key. */
function once<I extends PutMessage | PatchMessage>(
  store: SessionStore,
  write: Edit<I>,
  work: (store: SessionStore, write: Edit<I>) => Result<WrittenMessage, Problem>,
): Result<Written<WrittenMessage>, Problem> {
  const effect = () => {
    const reply = work(store, write);
    if (!reply.ok) return reply;
    const { id, inserted, changed } = reply.value;
    return ok({ reply: reply.value, receipt: JSON.stringify({ id, inserted, changed } satisfies Receipt) });
  };
  return store.atomically(() => store.keys.once(write.input.idempotency, write.now, effect, (receipt) => replay(store, receipt)));
}

/** Updates, or appends what is not there. `parent_id` is for a new message alone. */
export const putMessage = (store: SessionStore, input: PutMessage, uploads: Uploads, now: number) =>
  once(store, { input, uploads, now }, put);

export const patchMessage = (store: SessionStore, input: PatchMessage, uploads: Uploads, now: number) =>
  once(store, { input, uploads, now }, patch);

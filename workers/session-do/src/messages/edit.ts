/** `put` and `patch`: other content for a message that is there. Its place in the tree never changes. */
import { type Problem, problem } from "@sessionplane/shared/problem";
import type { Message } from "@sessionplane/shared/message";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { IfMatch, PatchMessage, PutMessage, Written, WrittenMessage } from "@sessionplane/shared/rpc/session-rpc";
import { admitFromClient } from "@sessionplane/engine/messages/client-source";
import { withToolResult } from "@sessionplane/engine/messages/tool-result";
import type { SessionStore } from "../session-store.ts";
import { afterWrite, checkOpen, checkRoom, compactIfDue, policyFor, storedMessage } from "./after-write.ts";
import { append } from "./append.ts";
import { type Uploads, checkUploads, draftFor, keepMedia } from "./media-intake.ts";

const NOT_FOUND = problem("not_found", "There is nothing at this path.");
const STALE = problem("precondition_failed", "The message is not at the version that If-Match names.");

/** The stored message that a write is about: null when it may be written anew. */
function present(store: SessionStore, id: string, ifMatch: IfMatch | undefined): Result<Message | null, Problem> {
  const stored = storedMessage(store, id);
  if (ifMatch === undefined) return ok(stored);
  if (stored === null) return err(STALE);
  return ifMatch === "any" || ifMatch === versionOf(store, id) ? ok(stored) : err(STALE);
}

const versionOf = (store: SessionStore, id: string): number => store.messages.versionOf(store.messages.seqOf(id) ?? 0);

/** The write, and what was uploaded for it. */
type Edit<T> = { readonly input: T; readonly uploads: Uploads; readonly now: number };

/** Writes other content. Overlays that stand for the message go on standing, and say that they are stale. */
function replace(store: SessionStore, message: Message, { uploads, now }: Edit<unknown>, at: string): Result<boolean, Problem> {
  const seq = store.messages.seqOf(message.id) ?? 0;
  const before = store.messages.meta(seq)?.tokens ?? 0;
  const draft = draftFor(store, message, at);
  if (!draft.ok) return draft;
  const refused = checkRoom(store, draft.value.bytes) ?? checkUploads(store, draft.value, uploads);
  if (refused !== null) return err(refused);
  if (!store.messages.replace(seq, draft.value, now)) return ok(false);
  store.faults.hit("edit:replaced");
  keepMedia(store, seq, draft.value, uploads, now);
  for (const overlay of store.overlaysOver(seq)) store.overlays.markStale(overlay.id, draft.value.tokens - before);
  return ok(true);
}

function edit(
  store: SessionStore,
  message: Message,
  change: Edit<PutMessage | PatchMessage>,
  at: string,
): Result<WrittenMessage, Problem> {
  const changed = replace(store, message, change, at);
  if (!changed.ok) return changed;
  const after = changed.value ? compactIfDue(store, policyFor(store, change.input.rules), change.now) : afterWrite(store);
  const stored = storedMessage(store, message.id) ?? message;
  return ok({ ...described(store, stored), inserted: false, changed: changed.value, ...after });
}

const described = (store: SessionStore, message: Message) => ({
  id: message.id,
  message,
  version: versionOf(store, message.id),
});

function insert(store: SessionStore, { input, uploads, now }: Edit<PutMessage>): Result<WrittenMessage, Problem> {
  const { message, if_match: _ifMatch, ...rest } = input;
  const appended = append(store, { ...rest, messages: [message] }, uploads, now);
  if (!appended.ok) return appended;
  const { results, ...after } = appended.value.value;
  return ok({ ...described(store, results[0]?.message ?? message), inserted: true, changed: true, ...after });
}

/** Updates, or appends what is not there. `parent_id` is for a new message alone. */
export function putMessage(
  store: SessionStore,
  input: PutMessage,
  uploads: Uploads,
  now: number,
): Result<WrittenMessage, Problem> {
  const closed = checkOpen(store);
  if (closed !== null) return err(closed);
  const stored = present(store, input.message.id, input.if_match);
  if (!stored.ok) return stored;
  if (stored.value === null) return insert(store, { input, uploads, now });
  const admitted =
    input.source === "server" ? ok(input.message) : admitFromClient(input.message, stored.value, input.rules, "/message");
  return admitted.ok ? store.atomically(() => edit(store, admitted.value, { input, uploads, now }, "/message")) : admitted;
}

function patched(store: SessionStore, change: Edit<PatchMessage>): Result<WrittenMessage, Problem> {
  const { input } = change;
  const closed = checkOpen(store);
  if (closed !== null) return err(closed);
  const stored = present(store, input.id, input.if_match);
  if (!stored.ok) return stored;
  if (stored.value === null) return err(NOT_FOUND);
  const merged = withToolResult(stored.value, input.patch, input.source);
  return merged.ok ? edit(store, merged.value, change, "") : merged;
}

type Receipt = { readonly id: string; readonly changed: boolean };

function replay(store: SessionStore, receipt: string): WrittenMessage {
  const { id, changed } = JSON.parse(receipt) as Receipt;
  const message = storedMessage(store, id);
  return { id, message, version: versionOf(store, id), inserted: false, changed, ...afterWrite(store) };
}

export function patchMessage(
  store: SessionStore,
  input: PatchMessage,
  uploads: Uploads,
  now: number,
): Result<Written<WrittenMessage>, Problem> {
  const effect = () => {
    const reply = patched(store, { input, uploads, now });
    if (!reply.ok) return reply;
    const receipt: Receipt = { id: reply.value.id, changed: reply.value.changed };
    return ok({ reply: reply.value, receipt: JSON.stringify(receipt) });
  };
  return store.atomically(() => store.keys.once(input.idempotency, now, effect, (receipt) => replay(store, receipt)));
}

/** Writing the messages of a session: what may refuse a write comes first, then every row in one turn. */
import type { Message } from "@sessionplane/shared/message";
import { admitFromClient } from "../../messages/client-source.ts";
import { skillCallsOf } from "../../context/skill-calls.ts";
import { NO_UPLOADS, hasRefs, keepMedia } from "../../messages/intake.ts";
import type { Appended, ImportOptions, Writer } from "../conversation.ts";
import { SessionError } from "../session-error.ts";
import { type SessionMessage, type SessionMessageInput, toMessage, toSessionMessage } from "../session-message.ts";
import { type Drafted, draftMessage, restore } from "./draft-message.ts";
import type { ObjectSessions } from "./object-sessions.ts";
import type { SessionTables } from "./session-tables.ts";

/** What is stored for an id; null when nothing is. */
export function stored(tables: SessionTables, id: string): Message | null {
  const read = tables.messages.find(id);
  return read === null ? null : restore(tables.media, read);
}

const given = (json: string): SessionMessage => toSessionMessage(JSON.parse(json));

/** The message as this writer may store it in place of `before`. */
function admit(message: Message, before: Message | null, { source, rules }: Writer): Message {
  if (source === "server") return message;
  const admitted = admitFromClient(message, before, rules, "");
  if (admitted.ok) return admitted.value;
  const { code, detail } = admitted.error;
  throw new SessionError(code === "part_not_allowed" ? code : "role_not_allowed", detail);
}

/** Where a message hangs: 0 is a new root. */
function parentSeq(tables: SessionTables | null, parentId: string | null | undefined): number {
  if (parentId === undefined) return tables?.messages.activeLeaf() ?? 0;
  const seq = parentId === null ? 0 : (tables?.messages.seqOf(parentId) ?? null);
  if (seq === null) throw new SessionError("unknown_parent", `${parentId} is not a message of this session`);
  return seq;
}

function insert(tables: SessionTables, { draft }: Drafted, parent: number, now: number): void {
  const { seq } = tables.messages.append(draft, parent, now);
  if (draft.left.refs.length > 0) keepMedia(tables.media, seq, draft, NO_UPLOADS, now);
  tables.search.put(seq, draft.message);
  if (draft.callIds !== null) tables.skills.note(seq, draft.message, now);
}

function already(tables: SessionTables | null, id: string): Appended | null {
  const message = tables === null ? null : stored(tables, id);
  if (tables === null || message === null) return null;
  const parentId = tables.messages.parentOf(tables.messages.seqOf(id) ?? 0)?.id ?? null;
  return { inserted: false, message: toSessionMessage(message), parentId };
}

/** One statement, nothing beside it: no transaction is needed. */
const isPlain = (tables: SessionTables, { draft }: Drafted, parent: number): boolean =>
  tables.messages.isPlain(draft, parent) &&
  !tables.search.covers(tables.sequence.head + 1) &&
  (draft.callIds === null || skillCallsOf(draft.message).length === 0);

export function appendMessage(
  sessions: ObjectSessions,
  sessionId: string,
  input: SessionMessageInput,
  parentId: string | null | undefined,
  writer: Writer,
): Appended {
  const found = sessions.find(sessionId);
  const message = admit(toMessage(input), null, writer);
  const known = already(found, message.id);
  if (known !== null) return known;
  const parent = parentSeq(found, parentId);
  const drafted = draftMessage(message);
  const tables = found ?? sessions.create(sessionId);
  const write = () => insert(tables, drafted, parent, Date.now());
  if (isPlain(tables, drafted, parent)) write();
  else tables.atomically(write);
  return { inserted: true, message: given(drafted.json), parentId: tables.messages.idOf(parent) };
}

export function updateMessage(
  tables: SessionTables,
  input: SessionMessageInput,
  writer: Writer,
): { message: SessionMessage; changed: boolean } | null {
  const message = toMessage(input);
  const seq = tables.messages.seqOf(message.id);
  const before = stored(tables, message.id);
  if (seq === null || before === null) return null;
  const { draft, json } = draftMessage(admit(message, before, writer));
  if (tables.messages.holds(seq, draft) && hasRefs(tables.media, seq, draft)) return { message: given(json), changed: false };
  const tokens = draft.tokens - (tables.messages.meta(seq)?.tokens ?? 0);
  const now = Date.now();
  tables.atomically(() => {
    tables.messages.replace(seq, draft, now);
    keepMedia(tables.media, seq, draft, NO_UPLOADS, now);
    tables.search.put(seq, draft.message);
    tables.skills.note(seq, draft.message, now, before);
    for (const overlay of tables.overlaysOver([seq])) tables.overlays.markStale(overlay.id, tokens);
  });
  return { message: given(json), changed: true };
}

/** The ids that were there. A summary must not keep what was removed: it goes too, and what it stood for shows. */
export function deleteMessages(tables: SessionTables, ids: readonly string[]): string[] {
  const found = new Map([...new Set(ids)].map((id) => [id, tables.messages.seqOf(id)]));
  const seqs = [...found.values()].filter((seq) => seq !== null);
  if (seqs.length === 0) return [];
  const now = Date.now();
  tables.atomically(() => {
    for (const overlay of tables.overlaysOver(seqs)) tables.overlays.delete(overlay.id);
    tables.messages.remove(seqs, now);
    tables.search.delete(seqs);
    tables.skills.drop(seqs);
    for (const seq of seqs) tables.media.refer(seq, [], now);
  });
  return [...found].flatMap(([id, seq]) => (seq === null ? [] : [id]));
}

export function clearMessages(tables: SessionTables): void {
  const now = Date.now();
  tables.atomically(() => {
    tables.overlays.clear();
    tables.messages.clear(now);
    tables.media.clear(now);
    tables.search.clear();
    tables.skills.clear();
  });
}

function instantOf(createdAt: number | Date): number {
  const instant = createdAt instanceof Date ? createdAt.getTime() : createdAt;
  if (Number.isSafeInteger(instant) && instant >= 0) return instant;
  throw new SessionError("invalid_argument", "createdAt: must be epoch milliseconds or a Date");
}

/**
 * A message as it was elsewhere. The active leaf stays what it is, unless the message goes on from it: so a
 * conversation that is copied from its root reads as it did, and an older branch takes nothing over.
 */
export function importMessage(
  sessions: ObjectSessions,
  sessionId: string,
  input: SessionMessageInput,
  { parentId, createdAt }: ImportOptions,
): Appended {
  const message = toMessage(input);
  const at = instantOf(createdAt);
  if (parentId === message.id) throw new SessionError("cycle", `${message.id} can't hang below itself`);
  const found = sessions.find(sessionId);
  const known = already(found, message.id);
  if (known !== null) return known;
  const parent = parentSeq(found, parentId);
  const drafted = draftMessage(message);
  const tables = found ?? sessions.create(sessionId);
  const leaf = tables.messages.activeLeaf();
  tables.atomically(() => {
    insert(tables, drafted, parent, at);
    if (leaf !== 0 && leaf !== parent) tables.messages.choose(leaf, Date.now());
  });
  return { inserted: true, message: given(drafted.json), parentId };
}

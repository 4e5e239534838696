/**
 * What the log says of texts, for the tenant's search. A message stands at its last change: one that was
 * edited later comes later, with the text that it has then. Reads only.
 */
import { type ClearFact, MAX_TEXT_UNITS, type RemovalFact, type TextFact } from "@sessionplane/shared/queue/fact";
import { messageSchema } from "@sessionplane/shared/message";
import { beginningOf, textOf } from "@sessionplane/engine/search/message-text";
import type { MessageRead } from "@sessionplane/engine/storage/sqlite/message-rows";
import type { Edit } from "@sessionplane/engine/storage/sqlite/text-log";
import type { SessionStore } from "../session-store.ts";

/** More than a queue message holds is not read: stored JSON, in UTF-8 bytes. */
const MAX_BYTES_READ = 400_000;
const MAX_MESSAGES_READ = 500;

/** Facts of a stretch of the log that ends at `reach`. */
type TextFacts = { readonly facts: readonly (TextFact | RemovalFact)[]; readonly reach: number };

function textFact({ seq: messageSeq, json, created_at }: MessageRead, seq: number): TextFact {
  const message = messageSchema.parse(JSON.parse(json));
  const text = beginningOf(textOf(message), MAX_TEXT_UNITS);
  return { kind: "text", seq, message_seq: messageSeq, role: message.role, created_at, text };
}

/** Counts what was read; says when it is enough. */
function reader(): (bytes: number) => boolean {
  let [rows, total] = [0, 0];
  return (bytes) => {
    rows += 1;
    total += bytes;
    return rows >= MAX_MESSAGES_READ || total >= MAX_BYTES_READ;
  };
}

function newTexts(store: SessionStore, after: number, edited: ReadonlySet<number>): TextFacts {
  const { head } = store.sequence;
  const isEnough = reader();
  const facts: TextFact[] = [];
  for (const read of store.messages.scan([{ first: after + 1, last: head }], "asc")) {
    const fact = edited.has(read.seq) ? null : textFact(read, read.seq);
    if (fact !== null && fact.text !== "") facts.push(fact);
    if (isEnough(read.bytes)) return { facts, reach: read.seq };
  }
  return { facts, reach: head };
}

/** Each place in the log is one edit, or one removal of some messages: a stretch never ends within. */
function editedTexts(store: SessionStore, edits: readonly Edit[]): TextFacts {
  const isEnough = reader();
  const facts = new Map<number, TextFact | RemovalFact>();
  let last = 0;
  let enough = false;
  for (const { seq, at } of edits) {
    if (enough && at > last) return { facts: [...facts.values()], reach: last };
    last = at;
    const before = facts.get(at);
    const [read] = store.messages.scan([{ first: seq, last: seq }], "asc");
    if (read === undefined) {
      const removed = before?.kind === "removal" ? before.message_seqs : [];
      facts.set(at, { kind: "removal", seq: at, message_seqs: [...removed, seq] });
    } else facts.set(at, textFact(read, at));
    enough = isEnough(read?.bytes ?? 0);
  }
  return { facts: [...facts.values()], reach: store.sequence.head };
}

/** The texts that are new or other after a place in the log, as far as one queue message may need them. */
export function textFacts(store: SessionStore, after: number): TextFacts {
  const edits = store.textLog.editsAfter(after);
  const edited = editedTexts(store, edits);
  const added = newTexts(store, after, new Set(edits.map((edit) => edit.seq)));
  return { facts: [...added.facts, ...edited.facts], reach: Math.min(added.reach, edited.reach) };
}

/** A clear leaves no edits behind it: that nothing is left before a message says it. */
export function clearFacts(store: SessionStore, after: number, to: number): ClearFact[] {
  const seq = store.textLog.changedSeq();
  return seq > after && seq <= to ? [{ kind: "clear", seq, first_seq: store.textLog.firstSeq() ?? store.sequence.head + 1 }] : [];
}

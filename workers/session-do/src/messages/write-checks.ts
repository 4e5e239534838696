/** What every write of messages asks before its first row. */
import type { Message } from "@sessionplane/shared/message";
import { messageSchema } from "@sessionplane/shared/message";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { SessionStore } from "../session-store.ts";

const ENDED = problem("session_ended", "The session has ended: its messages no longer change.");

/** Whether messages may be written or removed at all. */
export const checkOpen = (store: SessionStore): Problem | null => (store.row.status === "ended" ? ENDED : null);

/** Refuses what the database has no room for, before the platform does. */
export function checkRoom(store: SessionStore, bytes: number): Problem | null {
  if (bytes <= 0 || store.hasRoomFor(bytes)) return null;
  return problem("session_full", "The session's database is full: fork the session, split it, or delete messages.");
}

/** Where a message hangs: 0 is a new root. */
export function parentSeq(store: SessionStore, parentId: string | null | undefined): Result<number, Problem> {
  if (parentId === undefined) return ok(store.messages.activeLeaf());
  if (parentId === null) return ok(0);
  const seq = store.messages.seqOf(parentId);
  return seq === null
    ? err(fieldProblem("unknown_parent", "/parent_id", `${parentId} is not a message of this session`))
    : ok(seq);
}

/** The message as it is stored; null when there is none, or no longer. */
export function storedMessage(store: SessionStore, id: string): Message | null {
  const row = store.messages.find(id);
  return row === null ? null : messageSchema.parse(JSON.parse(row.json));
}

/** Events as they are sent: with the messages that they are about. */
import type { SessionEvent } from "@sessionplane/shared/session-event";
import { pricedUsageSchema } from "@sessionplane/shared/usage-event";
import type { SessionStore } from "../session-store.ts";
import type { LoggedEvent } from "./event-log.ts";

/** What is read at once: a listener that is far behind gets it piece by piece. */
const MAX_EVENTS = 50;
const MAX_BYTES = 1024 * 1024;

/** What a listener needs of a usage event; all of it is at `…/usage/events`. */
function usageData(data: string | null): string {
  const { id, event } = JSON.parse(data ?? "{}") as { id: string; event: unknown };
  const { provider, model, purpose, input_tokens, output_tokens } = pricedUsageSchema.parse(event);
  return JSON.stringify({ id, provider, model, purpose, input_tokens, output_tokens });
}

/** The message, or null when it was deleted since. */
function messageData(store: SessionStore, seq: number): string {
  const [read] = store.messages.scan([{ first: seq, last: seq }], "asc");
  const parentId = read === undefined ? null : (store.messages.parentOf(seq)?.id ?? null);
  return `{"message":${read?.json ?? "null"},"parent_id":${JSON.stringify(parentId)}}`;
}

function dataOf(store: SessionStore, { seq, type, data }: LoggedEvent): string {
  if (type === "append") return messageData(store, seq);
  if (type === "usage") return usageData(data);
  if (type !== "update") return data ?? "{}";
  const { message_id: id } = JSON.parse(data ?? "{}") as { message_id: string };
  const read = store.messages.find(id);
  return `{"message_id":${JSON.stringify(id)},"message":${read?.json ?? "null"}}`;
}

/** What happened after a place in the log, oldest first; empty when nothing has. */
export function readEvents(store: SessionStore, after: number): SessionEvent[] {
  const events: SessionEvent[] = [];
  let bytes = 0;
  for (const logged of store.events.after(after, MAX_EVENTS)) {
    const data = dataOf(store, logged);
    bytes += data.length;
    if (events.length > 0 && bytes > MAX_BYTES) break;
    events.push({ seq: logged.seq, type: logged.type, data });
  }
  return events;
}

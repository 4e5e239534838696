/** The tool calls that a message opens or answers. Pure. A call and its results must not be separated. */
import type { Message } from "@sessionplane/shared/message";

/** Each call id once, whatever the part's type: static and dynamic tools, calls and results of their own. */
export function callIdsOf(message: Message): string[] {
  const ids = new Set<string>();
  for (const part of message.parts) {
    const id = part["toolCallId"];
    if (typeof id === "string") ids.add(id);
  }
  return [...ids];
}

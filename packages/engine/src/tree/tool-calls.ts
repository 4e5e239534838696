/** The tool calls that a message opens or answers. Pure. A call and its results must not be separated. */
import { type Message, isToolPart } from "@sessionplane/shared/message";

const NONE: readonly string[] = [];

/** Each call id once, of static and dynamic tools, calls and results of their own. */
export function callIdsOf(message: Message): readonly string[] {
  let ids: Set<string> | undefined;
  for (const part of message.parts) {
    const id = isToolPart(part) ? part["toolCallId"] : undefined;
    if (typeof id === "string") (ids ??= new Set()).add(id);
  }
  return ids === undefined ? NONE : [...ids];
}

/** A story of the demo as a conversation: lines that are said, and tool calls with their results. Pure. */
import type { Message } from "@sessionplane/shared/message";
import type { Append, Conversation } from "./conversation.ts";

type Line =
  | { readonly by: "user" | "assistant"; readonly says: string; readonly below?: string; readonly id?: string }
  | { readonly calls: string; readonly with: unknown; readonly gets: unknown; readonly concludes: string };

/** Lines as appends; ids are the story's name and a number, unless a line names its own for a branch. */
export function tell(name: string, userId: string, lines: readonly Line[]): Conversation {
  const appends = lines.map((line, index): Append => {
    const id = "id" in line && line.id !== undefined ? `${name}-${line.id}` : `${name}-${index}`;
    if ("calls" in line) {
      const tool = {
        type: "dynamic-tool",
        toolName: line.calls,
        toolCallId: `${id}-call`,
        state: "output-available",
        input: line.with,
        output: line.gets,
      };
      return { message: { id, role: "assistant", parts: [tool, { type: "text", text: line.concludes }] } };
    }
    const message: Message = { id, role: line.by, parts: [{ type: "text", text: line.says }] };
    return line.below === undefined ? { message } : { message, parentId: `${name}-${line.below}` };
  });
  return { name, userId, appends };
}

/** How many tokens a model saw before each message: those of its path, not of other branches. Pure. */
import type { Message } from "@sessionplane/shared/message";
import { estimateMessage } from "@sessionplane/engine/tokens/estimate";
import type { Conversation } from "./conversation.ts";

export type Weighed = { readonly message: Message; readonly tokens: number; readonly above: number };

/** A message that names no parent hangs below the one before it. */
export function pathTokens({ appends }: Conversation): Weighed[] {
  const upTo = new Map<string, number>();
  let previous: string | null = null;
  return appends.map(({ message, parentId = previous }) => {
    const above = parentId === null ? 0 : (upTo.get(parentId) ?? 0);
    const tokens = estimateMessage(message);
    upTo.set(message.id, above + tokens);
    previous = message.id;
    return { message, tokens, above };
  });
}

/** The real conversations beside the project: the path of each, and all of them one after the other. */
import { estimateMessage } from "@sessionplane/engine/tokens/estimate";
import type { Message } from "@sessionplane/shared/message";
import { type Conversation, parseConversations } from "../../scripts/demo/conversation.ts";
import { realData } from "../../tests/support/real-data.ts";

const FILES = { airline: "airline-trajectories.jsonl", oasst: "oasst-trees.jsonl" } as const;

/** By file; one that is absent is left out. */
export function conversations(): ReadonlyMap<string, readonly Conversation[]> {
  const found = new Map<string, readonly Conversation[]>();
  for (const [kind, file] of Object.entries(FILES)) {
    const text = realData(file);
    if (text !== null) found.set(kind, parseConversations(text));
  }
  return found;
}

/** Of a tree its longest path; of equals the first, which people ranked best. */
export function longestPath({ appends }: Conversation): readonly Message[] {
  const paths = new Map<string | null, readonly Message[]>([[null, []]]);
  let before: string | null = null;
  for (const { message, parentId = before } of appends) {
    paths.set(message.id, [...(paths.get(parentId) ?? []), message]);
    before = message.id;
  }
  return [...paths.values()].reduce((best, path) => (path.length > best.length ? path : best));
}

/** Models give the same ids to calls of different conversations; in one session they would belong together. */
const ownCalls = (name: string, message: Message): Message => ({
  ...message,
  parts: message.parts.map((part) =>
    typeof part["toolCallId"] === "string" ? { ...part, toolCallId: `${name}:${part["toolCallId"]}` } : part,
  ),
});

/** All branches of all conversations, in turn one of each file, until there are so many tokens. What operators wrote to models is left out. */
export function joined(files: ReadonlyMap<string, readonly Conversation[]>, maxTokens: number): Message[] {
  const lists = [...files.values()];
  const longest = Math.max(...lists.map((list) => list.length));
  const inTurn = Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list[index] ?? [])).flat();
  const said = inTurn.flatMap(({ name, appends }) =>
    appends.flatMap(({ message }) => (message.role === "system" ? [] : [ownCalls(name, message)])),
  );
  const messages: Message[] = [];
  let tokens = 0;
  for (const message of said) {
    tokens += estimateMessage(message);
    if (tokens > maxTokens) break;
    messages.push(message);
  }
  return messages;
}

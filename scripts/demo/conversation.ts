/**
 * Conversations to import, from the two shapes that `--data` takes and from our own. Pure. What a shape
 * calls a tool result becomes a part of the call's message, as in the AI SDK.
 */
import * as z from "zod";
import type { Message } from "@sessionplane/shared/message";

/** One append: a message below its parent; undefined is the message before it. */
export type Append = { readonly message: Message; readonly parentId?: string | null };
export type Conversation = { readonly name: string; readonly userId: string; readonly appends: readonly Append[] };

const chatMessage = z.looseObject({
  role: z.enum(["system", "user", "assistant", "tool"]),
  content: z.string().nullish(),
  tool_calls: z
    .array(z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }))
    .nullish(),
  tool_call_id: z.string().nullish(),
});
type ChatMessage = z.infer<typeof chatMessage>;

const trajectory = z.looseObject({
  task_id: z.union([z.number(), z.string()]),
  trial: z.number().optional(),
  messages: z.array(chatMessage),
});

export type TreeNode = { message_id: string; text: string; role: string; replies?: TreeNode[] | undefined };
const treeNode: z.ZodType<TreeNode> = z.looseObject({
  message_id: z.string(),
  text: z.string(),
  role: z.string(),
  get replies() {
    return z.array(treeNode).optional();
  },
});
const tree = z.looseObject({ message_tree_id: z.string(), prompt: treeNode });

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

type Part = Message["parts"][number];

/** A chat message's own parts; its calls wait for their results. */
function partsOf(message: ChatMessage): Part[] {
  const text = message.content ? [{ type: "text", text: message.content }] : [];
  const calls = (message.tool_calls ?? []).map((call) => ({
    type: "dynamic-tool",
    toolName: call.function.name,
    toolCallId: call.id,
    state: "input-available",
    input: parsedJson(call.function.arguments),
  }));
  return [...text, ...calls];
}

/** OpenAI chat messages as UI messages. A result that answers no call stays a message of its own. */
export function fromChat(name: string, messages: readonly ChatMessage[]): Message[] {
  const result: Message[] = [];
  const open = new Map<string, Part>();
  for (const [index, message] of messages.entries()) {
    const call = message.tool_call_id ? open.get(message.tool_call_id) : undefined;
    if (message.role === "tool" && call !== undefined) {
      call["state"] = "output-available";
      call["output"] = parsedJson(message.content ?? "");
      open.delete(message.tool_call_id ?? "");
      continue;
    }
    const parts = partsOf(message);
    for (const part of parts) if (typeof part["toolCallId"] === "string") open.set(part["toolCallId"], part);
    result.push({ id: `${name}-${index}`, role: message.role, parts });
  }
  return result;
}

function* walk(node: TreeNode, parentId: string | null): Generator<Append> {
  const role = node.role === "assistant" ? "assistant" : "user";
  yield { message: { id: node.message_id, role, parts: [{ type: "text", text: node.text }] }, parentId };
  for (const reply of node.replies ?? []) yield* walk(reply, node.message_id);
}

/** One line of `--data`; throws a sentence when it is in neither shape. */
export function parseConversation(line: string): Conversation {
  const value = parsedJson(line);
  const chat = trajectory.safeParse(value);
  if (chat.success) {
    const { task_id: task, trial = 0, messages } = chat.data;
    const name = `trajectory-${task}-${trial}`;
    return { name, userId: `user-${task}`, appends: fromChat(name, messages).map((message) => ({ message })) };
  }
  const nested = tree.safeParse(value);
  if (nested.success) {
    const { message_tree_id: id, prompt } = nested.data;
    return { name: `tree-${id}`, userId: "oasst", appends: [...walk(prompt, null)] };
  }
  throw new Error(
    "the line is neither {task_id, messages: [chat messages]} nor {message_tree_id, prompt: {message_id, text, role, replies}}",
  );
}

export const parseConversations = (text: string): Conversation[] =>
  text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => parseConversation(line));

/** Runs of appends that chain, so that one request carries many. */
export function* batches(
  conversation: Conversation,
  size: number,
): Generator<{ readonly messages: Message[]; readonly parentId?: string | null }> {
  let messages: Message[] = [];
  let parentId: string | null | undefined;
  const batch = () => ({ messages, ...(parentId === undefined ? {} : { parentId }) });
  for (const append of conversation.appends) {
    const chains = append.parentId === undefined || append.parentId === messages.at(-1)?.id;
    if (messages.length > 0 && (!chains || messages.length === size)) {
      const last = messages.at(-1)?.id;
      yield batch();
      messages = [];
      parentId = chains && append.parentId !== undefined ? last : undefined;
    }
    if (messages.length === 0 && append.parentId !== undefined) parentId = append.parentId;
    messages.push(append.message);
  }
  if (messages.length > 0) yield batch();
}

/**
 * Tool results of older messages cut after the AI SDK converted them for a model: a tool's `toModelOutput` has
 * read the whole output by then, and no schema of its own applies to what it made (cloudflare/agents#2014). Pure.
 * The types are the SDK's by their shape. Source of the rules: Cloudflare's Agents packages.
 */
import { isToolPart } from "@sessionplane/shared/message";
import { fitText } from "./shorten-text.ts";
import { DEFAULT_TOOL_OUTPUT_CHARS, type MessageOfParts, type OlderOptions, olderCount } from "./truncate-older.ts";
import { truncateValue } from "./truncate-value.ts";

/** A `ModelMessage` of the AI SDK. */
export type ModelMessageLike = { readonly role: string; readonly content: string | readonly { readonly type: string }[] };
export type ToolResultOptions = OlderOptions & {
  /** Characters of a result, 500 when it is left out. */
  readonly maxToolOutputChars?: number | undefined;
};

/** What a text needs to say that it was cut. */
const MIN_TEXT_CHARS = 40;

type Fields = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null;

/** Bytes that stand in a result, such as an image, with their type; null: the item holds none. */
function mediaTypeOf(item: Fields): string | null {
  const data = isObject(item["data"]) && item["data"]["type"] === "data" ? item["data"]["data"] : item["data"];
  const isInline = typeof data === "string" || data instanceof Uint8Array;
  return isInline && typeof item["mediaType"] === "string" ? item["mediaType"] : null;
}

/** Texts share the characters, from the first on; bytes in place are left out, links to some stay. The same when nothing is. */
function truncateContent(items: readonly unknown[], max: number): readonly unknown[] {
  let room = max;
  let isFull = false;
  const kept = items.flatMap((item) => {
    if (!isObject(item)) return [item];
    const mediaType = mediaTypeOf(item);
    if (mediaType !== null) return [{ type: "text", text: `[${mediaType} left out]` }];
    if (item["type"] !== "text" || typeof item["text"] !== "string") return [item];
    // Providers refuse an empty text.
    if (isFull) return [];
    const text = fitText(item["text"], Math.max(room, MIN_TEXT_CHARS));
    room -= text.length;
    isFull = text !== item["text"];
    return [isFull ? { ...item, text } : item];
  });
  return kept.length === items.length && kept.every((item, index) => item === items[index]) ? items : kept;
}

function truncateOutput(output: unknown, max: number): unknown {
  if (!isObject(output)) return output;
  const { type, value } = output;
  const isContent = type === "content" && Array.isArray(value);
  if (!isContent && type !== "text" && type !== "json" && type !== "error-text" && type !== "error-json") return output;
  const kept = isContent ? truncateContent(value, max) : truncateValue(value, max);
  return kept === value ? output : { ...output, value: kept };
}

/** Whether the SDK makes a tool message's result of a part. What a provider ran stays in the assistant's message. */
function makesResult(part: { readonly type: string }): part is { readonly type: string; readonly toolCallId: string } {
  if (!isToolPart(part) || !("toolCallId" in part) || typeof part.toolCallId !== "string") return false;
  const state = "state" in part ? part.state : undefined;
  if (state === "approval-responded") return "approval" in part && isObject(part.approval) && part.approval["approved"] === false;
  if ("providerExecuted" in part && part.providerExecuted === true) return false;
  return state === "output-available" || state === "output-error" || state === "output-denied";
}

/**
 * Which results are older, asked in their order: those of older messages. The id of a call may come again in
 * a later turn, so the nth result of an id belongs to the nth part of it.
 */
function resultsOf(messages: readonly MessageOfParts[], older: number): (toolCallId: string) => boolean {
  const results = new Map<string, boolean[]>();
  for (const [index, { parts }] of messages.entries()) {
    for (const part of parts.filter(makesResult)) {
      const ofId = results.get(part.toolCallId) ?? [];
      ofId.push(index < older);
      results.set(part.toolCallId, ofId);
    }
  }
  const asked = new Map<string, number>();
  return (id) => {
    const nth = asked.get(id) ?? 0;
    asked.set(id, nth + 1);
    return results.get(id)?.[nth] ?? false;
  };
}

/**
 * The results of older messages, cut as `truncateOlderMessages` cuts outputs. `messages`: those that were
 * converted, so that both call the same messages older; without them the model's messages are counted.
 */
export function truncateOlderToolResults<M extends ModelMessageLike>(
  modelMessages: M[],
  messages: readonly MessageOfParts[] | null,
  options: ToolResultOptions = {},
): M[] {
  const older = olderCount((messages ?? modelMessages).length, options);
  if (older === 0) return modelMessages;
  const isOlder = messages === null ? null : resultsOf(messages, older);
  const max = options.maxToolOutputChars ?? DEFAULT_TOOL_OUTPUT_CHARS;
  return modelMessages.map((message, index) => {
    const { role, content } = message;
    if (role !== "tool" || typeof content === "string") return message;
    const kept = content.map((part) => {
      if (part.type !== "tool-result" || !("output" in part)) return part;
      const id = "toolCallId" in part ? String(part.toolCallId) : "";
      if (!(isOlder === null ? index < older : isOlder(id))) return part;
      const output = truncateOutput(part.output, max);
      return output === part.output ? part : { ...part, output };
    });
    return kept.every((part, at) => part === content[at]) ? message : { ...message, content: kept };
  });
}

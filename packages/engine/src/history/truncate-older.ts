/**
 * Micro-compaction: older messages with their tool outputs and long texts cut, on a copy for a model. Pure; what
 * is stored is not touched. Reasoning stays as it is: providers check it against a signature. Source of the
 * defaults, of the texts and of what is cut: Cloudflare's Agents packages, of the step: theirs of Think.
 */
import { isReservedMessageId } from "@sessionplane/shared/ids";
import { isToolPart } from "@sessionplane/shared/message";
import { shortenText } from "./shorten-text.ts";
import { truncateValue } from "./truncate-value.ts";

type Part = { readonly type: string };
/** A `UIMessage` of the AI SDK, a session's message, or any other of their shape. */
export type MessageOfParts = { readonly parts: readonly Part[] };

/** What of a path is older. */
export type OlderOptions = {
  /** The newest messages, which stay whole: 4 when it is left out. */
  readonly keepRecent?: number | undefined;
  /**
   * What is older begins anew every so many messages, counted from the root: until then the older messages read
   * the same, and a provider's cache of the prompt holds. 1 when it is left out; Infinity: nothing is older.
   */
  readonly step?: number | undefined;
};
export type TruncateOptions = OlderOptions & {
  /** Characters of a tool's output, 500 when it is left out. */
  readonly maxToolOutputChars?: number | undefined;
  /** Characters of a text, 10,000 when it is left out. */
  readonly maxTextChars?: number | undefined;
  /** False: tool outputs stay, for `truncateOlderToolResults` after the messages were converted. */
  readonly toolOutputs?: boolean | undefined;
};

export const DEFAULT_TOOL_OUTPUT_CHARS = 500;
const DEFAULT_KEEP_RECENT = 4;
const DEFAULT_TEXT_CHARS = 10_000;

/** How many of so many messages are older. */
export function olderCount(messages: number, { keepRecent = DEFAULT_KEEP_RECENT, step = 1 }: OlderOptions): number {
  const older = Math.max(0, messages - keepRecent);
  return step === Infinity ? 0 : Math.floor(older / step) * step;
}

/** A part with a result of a tool that the caller ran. A provider checks what it ran itself against its own schema. */
const hasOwnOutput = (part: Part): part is Part & { readonly output: unknown } =>
  isToolPart(part) &&
  "output" in part &&
  "state" in part &&
  part.state === "output-available" &&
  !("providerExecuted" in part && part.providerExecuted === true);

function truncatePart(part: Part, options: TruncateOptions) {
  if (part.type === "text" && "text" in part && typeof part.text === "string") {
    const text = shortenText(part.text, options.maxTextChars ?? DEFAULT_TEXT_CHARS);
    return text === part.text ? part : { ...part, text };
  }
  if (options.toolOutputs === false || !hasOwnOutput(part)) return part;
  const output = truncateValue(part.output, options.maxToolOutputChars ?? DEFAULT_TOOL_OUTPUT_CHARS);
  return output === part.output ? part : { ...part, output };
}

/** One message as an older one reads: the same object when nothing in it is too long. */
export function truncateMessage<M extends MessageOfParts>(message: M, options: TruncateOptions): M {
  const parts = message.parts.map((part) => truncatePart(part, options));
  return parts.every((part, index) => part === message.parts[index]) ? message : { ...message, parts };
}

/** What stands for compacted messages is short already, and its facts come last. */
const isSummary = (message: MessageOfParts): boolean =>
  "id" in message && typeof message.id === "string" && isReservedMessageId(message.id);

/** Root first. The same array when nothing is older; no message is changed, and those that stay are the same objects. */
export function truncateOlderMessages<M extends MessageOfParts>(messages: M[], options: TruncateOptions = {}): M[] {
  const older = olderCount(messages.length, options);
  if (older === 0) return messages;
  return messages.map((message, index) => (index < older && !isSummary(message) ? truncateMessage(message, options) : message));
}

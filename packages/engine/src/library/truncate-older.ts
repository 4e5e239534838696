/**
 * Micro-compaction as the library gives it: the engine's functions, with their numbers checked. Takes the place of
 * `agents/experimental/memory/utils` and of `agents/chat` in an import.
 */
import {
  type MessageOfParts,
  type TruncateOptions,
  truncateOlderMessages as truncateMessages,
} from "../history/truncate-older.ts";
import {
  type ModelMessageLike,
  type ToolResultOptions,
  truncateOlderToolResults as truncateResults,
} from "../history/truncate-tool-results.ts";
import { SessionError } from "./session-error.ts";

/** The least that each number may be. All are whole, or Infinity. */
const LEAST = { keepRecent: 0, step: 1, maxToolOutputChars: 0, maxTextChars: 0 };

function checkNumbers(options: TruncateOptions): void {
  const given: Partial<Record<string, unknown>> = options;
  for (const [name, least] of Object.entries(LEAST)) {
    const number = given[name];
    if (number === undefined || number === Infinity || (Number.isInteger(number) && Number(number) >= least)) continue;
    throw new SessionError("invalid_argument", `${name}: must be a whole number from ${least} on, or Infinity`);
  }
}

/**
 * Tool outputs and long texts of all messages but the newest ones, cut on a copy for a model. Stored messages stay
 * as they are. The same array when nothing is older. Throws `invalid_argument`.
 */
export function truncateOlderMessages<M extends MessageOfParts>(messages: M[], options: TruncateOptions = {}): M[] {
  checkNumbers(options);
  return truncateMessages(messages, options);
}

/**
 * For tools with a `toModelOutput`, which must see outputs whole: `truncateOlderMessages` with `toolOutputs: false`,
 * the SDK's `convertToModelMessages`, then this. `messages` are those that were converted: both then call the same
 * ones older. Without them the model's own messages are counted. Throws `invalid_argument`.
 */
export function truncateOlderToolResults<M extends ModelMessageLike>(modelMessages: M[], options?: ToolResultOptions): M[];
export function truncateOlderToolResults<M extends ModelMessageLike>(
  modelMessages: M[],
  messages: readonly MessageOfParts[],
  options?: ToolResultOptions,
): M[];
export function truncateOlderToolResults<M extends ModelMessageLike>(
  modelMessages: M[],
  second: readonly MessageOfParts[] | ToolResultOptions = {},
  third: ToolResultOptions = {},
): M[] {
  const [messages, options] = "length" in second ? [second, third] : [null, second];
  checkNumbers(options);
  return truncateResults(modelMessages, messages, options);
}

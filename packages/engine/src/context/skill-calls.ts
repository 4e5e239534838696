/**
 * The calls of `load_context` and `unload_context` that a message holds, and a message without the documents
 * that were unloaded since. Pure.
 */
import { type Message, isToolPart } from "@sessionplane/shared/message";
import { toolNameOf } from "../compaction/transcript.ts";

/** A call that succeeded. `output`: the document, of a load; `stored`: the same as it stands in the part. */
export type SkillCall = {
  readonly kind: "load" | "unload";
  readonly callId: string;
  readonly label: string;
  readonly key: string;
  readonly output: string;
  readonly stored: unknown;
};

type Part = Message["parts"][number];

const KINDS: Readonly<Record<string, SkillCall["kind"]>> = { load_context: "load", unload_context: "unload" };

/** Longer names no document has; what is kept of a call stays small, whatever a message says. */
const MAX_NAME_LENGTH = 1_024;

/** What the tools answer when they could do nothing, and what a document becomes that was unloaded. */
const IS_NO_DOCUMENT = /^(?:Error: |Not found: |\[skill unloaded: )/;

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;

/** The text, or the reply of the plane as it came. */
const outputText = (output: unknown): unknown => (typeof output === "string" ? output : field(output, "output"));

function callOf(part: Part): SkillCall | null {
  const kind = isToolPart(part) && part["state"] === "output-available" ? KINDS[toolNameOf(part)] : undefined;
  if (kind === undefined) return null;
  const [callId, label, key] = [part["toolCallId"], field(part["input"], "label"), field(part["input"], "key")];
  const output = outputText(part["output"]);
  if (typeof callId !== "string" || typeof label !== "string" || typeof key !== "string" || typeof output !== "string")
    return null;
  if (label.length > MAX_NAME_LENGTH || key.length > MAX_NAME_LENGTH || IS_NO_DOCUMENT.test(output)) return null;
  return { kind, callId, label, key, output, stored: part["output"] };
}

/** By part. Of parts with the same call the last one counts, as it does where a result is merged into one. */
function callsByPart(parts: readonly Part[]): ReadonlyMap<Part, SkillCall> {
  const last = new Map<string, Part>();
  for (const part of parts) if (isToolPart(part)) last.set(String(part["toolCallId"]), part);
  return new Map(
    [...last.values()].flatMap((part) => {
      const call = callOf(part);
      return call === null ? [] : [[part, call]];
    }),
  );
}

/** In the order of the message. */
export function skillCallsOf({ parts }: Pick<Message, "parts">): SkillCall[] {
  const calls = callsByPart(parts);
  return parts.flatMap((part) => calls.get(part) ?? []);
}

/** What stands in a history for a document that was unloaded. */
export const unloadedText = (key: string): string => `[skill unloaded: ${key}]`;

/** The message with a note in place of the outputs of these calls. `keys`: of the documents, by the call's id. */
export function withoutOutputs(message: Message, keys: ReadonlyMap<string, string>): Message {
  const calls = callsByPart(message.parts);
  const parts = message.parts.map((part) => {
    const call = calls.get(part);
    const key = call?.kind === "load" ? keys.get(call.callId) : undefined;
    return key === undefined ? part : { ...part, output: unloadedText(key) };
  });
  return { ...message, parts };
}

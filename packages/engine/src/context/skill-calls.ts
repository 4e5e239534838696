/**
 * The calls of `load_context` and `unload_context` that a message holds, and a message without the documents
 * that were unloaded since. Pure.
 */
import { type Message, isToolPart } from "@sessionplane/shared/message";
import { toolNameOf } from "../compaction/transcript.ts";

/** A call that succeeded. `output`: the document, of a load. */
export type SkillCall = {
  readonly kind: "load" | "unload";
  readonly callId: string;
  readonly label: string;
  readonly key: string;
  readonly output: string;
};

type Part = Message["parts"][number];

const KINDS: Readonly<Record<string, SkillCall["kind"]>> = { load_context: "load", unload_context: "unload" };

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
  return IS_NO_DOCUMENT.test(output) ? null : { kind, callId, label, key, output };
}

/** In the order of the message. */
export function skillCallsOf({ parts }: Pick<Message, "parts">): SkillCall[] {
  return parts.flatMap((part) => callOf(part) ?? []);
}

/** What stands in a history for a document that was unloaded. */
export const unloadedText = (key: string): string => `[skill unloaded: ${key}]`;

/** The message with a note in place of the outputs of these calls. `keys`: of the documents, by the call's id. */
export const withoutOutputs = (message: Message, keys: ReadonlyMap<string, string>): Message => ({
  ...message,
  parts: message.parts.map((part) => {
    const call = callOf(part);
    const key = call?.kind === "load" ? keys.get(call.callId) : undefined;
    return key === undefined ? part : { ...part, output: unloadedText(key) };
  }),
});

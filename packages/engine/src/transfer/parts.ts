/** The parts that every transcript has. Pure. */
import { type Json, isObject } from "./json-value.ts";
import type { Said } from "./said.ts";

export const text = (words: string): Said => ({ kind: "part", part: { type: "text", text: words } });
export const reasoning = (words: string): Said => ({ kind: "part", part: { type: "reasoning", text: words } });
export const file = (mediaType: string, url: string): Said => ({ kind: "part", part: { type: "file", mediaType, url } });
export const toolCall = (toolCallId: string, toolName: string, input: unknown): Said => ({
  kind: "part",
  part: { type: "dynamic-tool", toolCallId, toolName, state: "input-available", input },
});
export const unmapped = (what: string): Said => ({ kind: "unmapped", what });

/** Content that is a text or a list of blocks. */
export function blocksOf(content: unknown, read: (block: Json) => Said): Said[] {
  if (typeof content === "string") return content === "" ? [] : [text(content)];
  if (!Array.isArray(content))
    return content === undefined || content === null ? [] : [unmapped("content that is no text and no list")];
  return content.map((block) => (isObject(block) ? read(block) : unmapped("a block that is no object")));
}

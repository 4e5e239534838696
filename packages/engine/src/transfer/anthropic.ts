/** A message of Anthropic's Messages API. Source: their API reference, `messages` of a request. Pure. */
import { isObject, textOf, type Json } from "./json-value.ts";
import { blocksOf, file, reasoning, text, toolCall, unmapped } from "./parts.ts";
import type { ReadMessage, Said } from "./said.ts";

const ROLES: readonly unknown[] = ["user", "assistant", "system"];

function readSource(source: unknown, type: string): Said {
  if (!isObject(source)) return unmapped(`a block of type ${type} without a source`);
  const mediaType = textOf(source["media_type"]) ?? (type === "image" ? "image/*" : "application/pdf");
  const data = textOf(source["data"]);
  if (source["type"] === "base64" && data !== null) return file(mediaType, `data:${mediaType};base64,${data}`);
  if (source["type"] === "text" && data !== null) return text(data);
  const url = textOf(source["url"]);
  return url === null ? unmapped(`a ${type} from ${textOf(source["type"]) ?? "nowhere"}`) : file(mediaType, url);
}

function readBlock(block: Json): Said {
  const type = textOf(block["type"]) ?? "";
  const words = textOf(block["text"]);
  if (type === "text" && words !== null) return text(words);
  if (type === "image" || type === "document") return readSource(block["source"], type);
  const thought = textOf(block["thinking"]);
  if (type === "thinking" && thought !== null) return reasoning(thought);
  const [id, name, callId] = [textOf(block["id"]), textOf(block["name"]), textOf(block["tool_use_id"])];
  if (type === "tool_use" && id !== null && name !== null) return toolCall(id, name, block["input"] ?? {});
  if (type === "tool_result" && callId !== null)
    return { kind: "result", toolCallId: callId, output: outputOf(block["content"]), isError: block["is_error"] === true };
  return unmapped(`a block of type ${type}`);
}

/** A result of one text is that text; of several blocks, what they are as parts. */
function outputOf(content: unknown): unknown {
  if (typeof content === "string" || content === undefined) return content ?? "";
  const parts = blocksOf(content, readBlock).flatMap((said) => (said.kind === "part" ? [said.part] : []));
  const [first] = parts;
  return parts.length === 1 && first?.type === "text" ? first["text"] : parts;
}

export const readAnthropic: ReadMessage = (value) => {
  const { role, content, id } = value;
  if (!ROLES.includes(role)) return null;
  const ours = role === "assistant" ? "assistant" : role === "system" ? "system" : "user";
  return { id: textOf(id), role: ours, said: blocksOf(content, readBlock) };
};

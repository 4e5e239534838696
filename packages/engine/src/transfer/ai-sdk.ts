/** A message of the AI SDK: a `UIMessage` as it is, or a `ModelMessage`. Source: the types of `ai`. Pure. */
import { newMessageSchema, roleSchema } from "@sessionplane/shared/message";
import { isObject, textOf, type Json } from "./json-value.ts";
import { blocksOf, file, reasoning, text, toolCall, unmapped } from "./parts.ts";
import type { ReadMessage, Said } from "./said.ts";

/** A tool's output as the SDK gives it to a model: `{type: "text" | "json" | "error-text" | "error-json" | …, value}`. */
function readResult(block: Json, toolCallId: string): Said {
  const output = block["output"] ?? block["result"];
  const type = isObject(output) ? (textOf(output["type"]) ?? "") : "";
  const isError = type.startsWith("error-");
  return { kind: "result", toolCallId, output: isObject(output) && "value" in output ? output["value"] : output, isError };
}

function readFile(block: Json): Said {
  const data = textOf(block["data"]) ?? textOf(block["image"]);
  const mediaType =
    textOf(block["mediaType"]) ??
    textOf(block["mimeType"]) ??
    (block["type"] === "image" ? "image/*" : "application/octet-stream");
  if (data === null) return unmapped("a file without its bytes");
  return file(mediaType, /^(data:|https?:)/.test(data) ? data : `data:${mediaType};base64,${data}`);
}

function readBlock(block: Json): Said {
  const type = textOf(block["type"]) ?? "";
  const words = textOf(block["text"]);
  if (type === "text" && words !== null) return text(words);
  if (type === "reasoning" && words !== null) return reasoning(words);
  if (type === "file" || type === "image") return readFile(block);
  const [id, name] = [textOf(block["toolCallId"]), textOf(block["toolName"])];
  if (type === "tool-call" && id !== null && name !== null) return toolCall(id, name, block["input"] ?? block["args"] ?? {});
  if (type === "tool-result" && id !== null) return readResult(block, id);
  return unmapped(`a part of type ${type}`);
}

export const readAiSdk: ReadMessage = (value) => {
  const ui = newMessageSchema.safeParse(value);
  const role = roleSchema.safeParse(value["role"]);
  if (ui.success) {
    const { id = null, role: uiRole, parts, ...rest } = ui.data;
    return { id, role: uiRole, said: parts.map((part): Said => ({ kind: "part", part })), rest };
  }
  if (!role.success || value["content"] === undefined) return null;
  return { id: textOf(value["id"]), role: role.data, said: blocksOf(value["content"], readBlock) };
};

/** A message of OpenAI's chat completions. Source: their API reference, `messages` of a request. Pure. */
import { isObject, textOf, type Json } from "./json-value.ts";
import { blocksOf, file, reasoning, text, toolCall, unmapped } from "./parts.ts";
import type { ReadMessage, Said } from "./said.ts";

const ROLES = { system: "system", developer: "system", user: "user", assistant: "assistant", tool: "tool" } as const;
const isRole = (role: unknown): role is keyof typeof ROLES => typeof role === "string" && role in ROLES;

const mediaTypeOf = (url: string): string => /^data:([^;,]+)/.exec(url)?.[1] ?? "image/*";

function readBlock(block: Json): Said {
  const type = textOf(block["type"]) ?? "";
  const words = textOf(block["text"]) ?? textOf(block["refusal"]);
  if (words !== null) return text(words);
  const image = block["image_url"];
  const url = isObject(image) ? textOf(image["url"]) : textOf(image);
  if (url !== null) return file(mediaTypeOf(url), url);
  const attached = block["file"];
  const data = isObject(attached) ? textOf(attached["file_data"]) : null;
  if (data !== null) return file(mediaTypeOf(data), data);
  return unmapped(`a block of type ${type}`);
}

/** Arguments are JSON in a text; what a model wrote wrongly stays a text. */
function argumentsOf(value: unknown): unknown {
  if (typeof value !== "string") return value ?? {};
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

function readCall(call: unknown): Said {
  const definition = isObject(call) ? call["function"] : null;
  const id = isObject(call) ? textOf(call["id"]) : null;
  const name = isObject(definition) ? textOf(definition["name"]) : null;
  if (id === null || name === null || !isObject(definition)) return unmapped("a tool call without an id or a function");
  return toolCall(id, name, argumentsOf(definition["arguments"]));
}

export const readOpenAi: ReadMessage = (value) => {
  const { role, content, tool_calls: calls, tool_call_id: callId } = value;
  if (!isRole(role)) return null;
  if (role === "tool") {
    if (typeof callId !== "string") return null;
    const output =
      typeof content === "string"
        ? content
        : blocksOf(content, readBlock).flatMap((said) => (said.kind === "part" ? [said.part] : []));
    return { id: null, role: "tool", said: [{ kind: "result", toolCallId: callId, output, isError: false }] };
  }
  const thought = textOf(value["reasoning_content"]);
  const refusal = textOf(value["refusal"]);
  const said = [
    ...(thought === null ? [] : [reasoning(thought)]),
    ...blocksOf(content, readBlock),
    ...(refusal === null ? [] : [text(refusal)]),
    ...(Array.isArray(calls) ? calls.map(readCall) : []),
    ...["audio", "function_call", "annotations"].filter((key) => isObject(value[key])).map((key) => unmapped(key)),
  ];
  return { id: null, role: ROLES[role], said };
};

/**
 * Messages as the text that a summariser reads, in entries that a random nonce sets apart, and back. What is
 * in an entry is data: it can't forge a boundary, since it can't know the nonce, and it has no tags. Pure.
 */
import type { Message } from "@sessionplane/shared/message";

/** Tool input and output are mostly bulk: so many code points of their JSON are shown. */
const MAX_TOOL_JSON = 2_000;

export type Entry =
  | { readonly kind: "message"; readonly id: string; readonly role: string; readonly text: string }
  | { readonly kind: "summary"; readonly text: string };

type Part = Message["parts"][number];

/** The first `max` code points, never half of a pair. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const points = [...text.slice(0, max * 2)].slice(0, max).join("");
  return points.length < text.length ? `${points}…` : text;
}

const asJson = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

export const isToolPart = (part: Part): boolean => part.type.startsWith("tool-") || part.type === "dynamic-tool";

/** The tool's own name: static parts carry it in their type, dynamic ones beside it. */
export const toolNameOf = (part: Part): string => {
  const named = part["toolName"];
  if (typeof named === "string") return named;
  return part.type.startsWith("tool-") ? part.type.slice("tool-".length) : "unknown";
};

function toolText(part: Part): string {
  const output = part["output"] ?? part["result"];
  const input = part["input"] === undefined ? [] : [`Input: ${cut(asJson(part["input"]), MAX_TOOL_JSON)}`];
  const shown = output === undefined ? [] : [`Output: ${cut(asJson(output), MAX_TOOL_JSON)}`];
  const error = typeof part["errorText"] === "string" ? [`Error: ${cut(part["errorText"], MAX_TOOL_JSON)}`] : [];
  return [`[Tool: ${toolNameOf(part)}]`, ...input, ...shown, ...error].join("\n");
}

function partText(part: Part): string {
  if (isToolPart(part)) return toolText(part);
  if (part.type === "text" && typeof part["text"] === "string") return part["text"];
  if (part.type === "source-url") return `[Source: ${asJson(part["url"] ?? part["title"] ?? "unnamed")}]`;
  if (part.type === "file") return `[File: ${asJson(part["filename"] ?? part["mediaType"] ?? "unnamed")}]`;
  return "";
}

/** A message's entry. Reasoning is left out: it is not what was said. */
export const entryOf = (message: Message): Entry => ({
  kind: "message",
  id: message.id,
  role: message.role,
  text: message.parts
    .map(partText)
    .filter((text) => text !== "")
    .join("\n"),
});

/** Tags and the marks of chat templates mean something to models; in an entry they are only text. */
const TAG_START = /<(?=[\p{L}/|!?])/gu;
const ESCAPED = /&(?=(?:amp;)*lt;)/g;
const escapeTags = (text: string): string => text.replace(ESCAPED, "&amp;").replace(TAG_START, "&lt;");
const unescapeTags = (text: string): string => text.replaceAll("&lt;", "<").replace(/&amp;(?=(?:amp;)*lt;)/g, "&");

const boundary = (nonce: string, rest: string): string => `--- ${nonce} ${rest}`;

export const opening = (nonce: string): string => boundary(nonce, "BEGIN TRANSCRIPT");
export const closing = (nonce: string): string => boundary(nonce, "END TRANSCRIPT");

/** An id is a caller's text: as JSON it stays on its line. */
const heading = (entry: Entry): string =>
  entry.kind === "summary" ? "SUMMARY" : `MESSAGE ${entry.role} ${escapeTags(JSON.stringify(entry.id))}`;

export const renderTranscript = (entries: readonly Entry[], nonce: string): string =>
  [
    opening(nonce),
    ...entries.map((entry) => `${boundary(nonce, heading(entry))}\n${escapeTags(entry.text)}`),
    closing(nonce),
  ].join("\n");

const OPENING = /^--- (\S+) BEGIN TRANSCRIPT$/m;

/** The entries of a rendered transcript, for a model that is a program; [] when there is none. */
export function parseTranscript(text: string): Entry[] {
  const found = OPENING.exec(text);
  const nonce = found?.[1];
  if (found === null || nonce === undefined) return [];
  const start = found.index + found[0].length;
  const end = text.indexOf(`\n${closing(nonce)}`, start);
  return text
    .slice(start, end === -1 ? undefined : end)
    .split(`\n${boundary(nonce, "")}`)
    .slice(1)
    .map(parseEntry);
}

function parseEntry(piece: string): Entry {
  const end = piece.indexOf("\n");
  const head = end === -1 ? piece : piece.slice(0, end);
  const text = end === -1 ? "" : unescapeTags(piece.slice(end + 1));
  const message = /^MESSAGE (\S+) (".*")$/s.exec(head);
  if (message === null) return { kind: "summary", text };
  return { kind: "message", role: message[1] ?? "", id: String(JSON.parse(unescapeTags(message[2] ?? '""'))), text };
}

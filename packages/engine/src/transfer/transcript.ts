/**
 * Transcripts of other systems as messages of the AI SDK's shape: one line each, a tool's result in the part
 * of its call. What has no place in a message is told of, not dropped in silence. Pure.
 */
import type { Message } from "@sessionplane/shared/message";
import { readAiSdk } from "./ai-sdk.ts";
import { readAnthropic } from "./anthropic.ts";
import { readOpenAi } from "./openai.ts";
import { isObject, type Json } from "./json-value.ts";
import type { ReadMessage, Said } from "./said.ts";

export const TRANSCRIPT_FORMATS = ["openai", "anthropic", "ai-sdk"] as const;
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

export type Unmapped = { readonly line: number; readonly what: string };

type Part = Message["parts"][number];

const READERS: Record<TranscriptFormat, ReadMessage> = { openai: readOpenAi, anthropic: readAnthropic, "ai-sdk": readAiSdk };

/** Enough to see what is missing. */
const MAX_UNMAPPED = 100;

const resultFields = (output: unknown, isError: boolean): object =>
  isError
    ? { state: "output-error", errorText: typeof output === "string" ? output : (JSON.stringify(output) ?? "") }
    : { state: "output-available", output };

export class TranscriptReader {
  readonly #read: ReadMessage;
  readonly #newId: () => string;
  readonly #unmapped: Unmapped[];
  /** The last message of the assistant: results of its calls may still come. */
  #open: { message: Message; line: number } | null = null;

  constructor(format: TranscriptFormat, newId: () => string, unmapped: Unmapped[]) {
    this.#read = READERS[format];
    this.#newId = newId;
    this.#unmapped = unmapped;
  }

  #tell(line: number, what: string): void {
    if (this.#unmapped.length < MAX_UNMAPPED) this.#unmapped.push({ line, what });
  }

  /** The messages that are complete now; null when the value is none of this format. A request's `messages` are taken one by one. */
  push(value: unknown, line: number): Message[] | null {
    if (!isObject(value)) return null;
    const many = value["messages"];
    if (!Array.isArray(many)) return this.#one(value, line);
    const system = value["system"] === undefined ? [] : (this.#one({ role: "system", content: value["system"] }, line) ?? []);
    const done = many.map((one) => (isObject(one) ? this.#one(one, line) : null));
    return done.includes(null) ? null : [...system, ...done.flatMap((messages) => messages ?? [])];
  }

  end(): Message[] {
    const last = this.#open;
    this.#open = null;
    return last === null ? [] : [last.message];
  }

  #one(value: Json, line: number): Message[] | null {
    const spoken = this.#read(value);
    if (spoken === null) return null;
    const parts: Part[] = [];
    for (const said of spoken.said) {
      if (said.kind === "part") parts.push(said.part);
      else if (said.kind === "unmapped") this.#tell(line, said.what);
      else this.#answer(said, line);
    }
    // Results alone are in the parts of their calls by now.
    if (parts.length === 0) return [];
    const done = this.end();
    const message: Message = { id: spoken.id ?? this.#newId(), role: spoken.role, parts, ...spoken.rest };
    if (spoken.role !== "assistant") return [...done, message];
    this.#open = { message, line };
    return done;
  }

  #answer({ toolCallId, output, isError }: Extract<Said, { kind: "result" }>, line: number): void {
    const open = this.#open;
    const index = open?.message.parts.findIndex((part) => part["toolCallId"] === toolCallId) ?? -1;
    const part = open?.message.parts[index];
    if (open === null || part === undefined)
      return this.#tell(line, `a result of the call ${toolCallId}, which is not the last message's`);
    const answered = { ...part, ...resultFields(output, isError) };
    open.message = { ...open.message, parts: open.message.parts.with(index, answered) };
  }
}

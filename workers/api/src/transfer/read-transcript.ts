/** A transcript as the lines of a session: its messages in a row, below each other. */
import { newId } from "@sessionplane/shared/ids";
import { type Message, messageIdSchema } from "@sessionplane/shared/message";
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, ok } from "@sessionplane/shared/result";
import { messageLineSchema } from "@sessionplane/shared/transfer";
import { type TranscriptFormat, TranscriptReader, type Unmapped } from "@sessionplane/engine/transfer/transcript";
import { validationProblem } from "../http/problems.ts";
import { readValues, refuseLine } from "./read-lines.ts";
import type { ReadLine } from "./receive.ts";

export async function* readTranscript(
  body: ReadableStream<Uint8Array>,
  format: TranscriptFormat,
  unmapped: Unmapped[],
): AsyncGenerator<Result<ReadLine, Problem>> {
  const reader = new TranscriptReader(format, () => newId("message"), unmapped);
  const seen = new Set<string>();
  let above: string | null = null;
  let position = 0;

  /** A message's own id stays when it can: else, and the second time, it gets one of ours. */
  const toLine = (said: Message, line: number, bytes: number): Result<ReadLine, Problem> => {
    const id = messageIdSchema.safeParse(said.id).success && !seen.has(said.id) ? said.id : newId("message");
    const parsed = messageLineSchema.safeParse({
      kind: "message",
      position: (position += 1),
      parent_id: above,
      message: { ...said, id },
    });
    if (!parsed.success) {
      const { errors: [first] = [] } = validationProblem("json", parsed.error);
      return refuseLine(line, first?.pointer ?? "", first?.message ?? "is no message");
    }
    seen.add(id);
    above = id;
    return ok({ line, bytes, entry: parsed.data });
  };

  let last = 0;
  for await (const read of readValues(body)) {
    if (!read.ok) {
      yield read;
      return;
    }
    const { line, bytes, value } = read.value;
    last = line;
    const messages = reader.push(value, line);
    if (messages === null) {
      yield refuseLine(line, "", `is no message of the format ${format}`);
      return;
    }
    for (const message of messages) yield toLine(message, line, bytes);
  }
  for (const message of reader.end()) yield toLine(message, last, JSON.stringify(message).length);
}

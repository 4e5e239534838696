/** NDJSON of a session as checked lines; the first that is wrong ends it, with its number and its pointer. */
import { findJsonFault } from "@sessionplane/shared/json";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import { transferLineSchema } from "@sessionplane/shared/transfer";
import { NdjsonReader } from "../http/ndjson.ts";
import { validationProblem } from "../http/problems.ts";
import type { ReadLine } from "./receive.ts";

/** A message has at most 16 MiB with its attachments in place; escapes in JSON are in that. */
export const LINE_LIMITS = { maxBytes: Number.MAX_SAFE_INTEGER, maxLineBytes: 20 * 1024 * 1024 };

export const refuseLine = (line: number, pointer: string, message: string): Result<never, Problem> =>
  err(
    problem("import_refused", `Line ${line}: ${message}`, { errors: [{ pointer, code: "invalid", message }], fields: { line } }),
  );

export async function* readValues(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<Result<{ readonly line: number; readonly bytes: number; readonly value: unknown }, Problem>> {
  for await (const read of new NdjsonReader(body, LINE_LIMITS)) {
    if ("fault" in read) {
      yield refuseLine(read.line, "", read.fault === "too_long" ? "is too long" : "is not UTF-8");
      return;
    }
    let value: unknown;
    try {
      value = JSON.parse(read.text);
    } catch {
      yield refuseLine(read.line, "", "is not JSON");
      return;
    }
    const fault = findJsonFault(value);
    if (fault !== null) {
      yield refuseLine(read.line, fault.pointer, fault.code);
      return;
    }
    yield ok({ line: read.line, bytes: read.text.length, value });
  }
}

export async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<Result<ReadLine, Problem>> {
  for await (const read of readValues(body)) {
    if (!read.ok) {
      yield read;
      return;
    }
    const { line, bytes, value } = read.value;
    const parsed = transferLineSchema.safeParse(value);
    if (!parsed.success) {
      const { errors: [first] = [] } = validationProblem("json", parsed.error);
      yield refuseLine(line, first?.pointer ?? "", first?.message ?? "is no line of a session");
      return;
    }
    yield ok({ line, bytes, entry: parsed.data });
  }
}

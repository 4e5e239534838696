/** A body of plain text or Markdown: counted while it is read, decoded strictly, kept as it is. */
import type { Context } from "hono";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { AppEnv } from "../env.ts";
import { readLimited } from "./body.ts";

const TYPES: readonly string[] = ["text/markdown", "text/plain"];
/** Another charset would be read as what it is not. */
const OTHER_CHARSET = /^charset="?(?!utf-8"?$|us-ascii"?$)/;

function isText(contentType: string): boolean {
  const [type = "", ...parameters] = contentType.split(";").map((part) => part.trim().toLowerCase());
  return TYPES.includes(type) && !parameters.some((parameter) => OTHER_CHARSET.test(parameter));
}

const NOT_TEXT = problem("unsupported_media_type", "Send the body as text/markdown or text/plain, in UTF-8.");
const EMPTY = fieldProblem("invalid", "", "is empty");
const NOT_UTF8 = fieldProblem("invalid", "", "is not UTF-8");

export async function readTextBody(c: Context<AppEnv>, maxBytes: number): Promise<Result<string, Problem>> {
  if (!isText(c.req.header("Content-Type") ?? "")) return err(NOT_TEXT);
  const bytes = c.req.raw.body === null ? new Uint8Array() : await readLimited(c.req.raw.body, maxBytes);
  if (bytes === null) return err(problem("body_too_large", `The body has more than ${maxBytes} bytes.`));
  if (bytes.byteLength === 0) return err(EMPTY);
  try {
    // A byte order mark is a part of the document.
    return ok(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return err(NOT_UTF8);
  }
}

/**
 * A JSON body: counted while it is read, decoded strictly, refused when storage would change it. Runs
 * before every route's validators, which read it again from memory.
 */
import type { MiddlewareHandler } from "hono";
import { createMiddleware } from "hono/factory";
import { canonicalJson, findJsonFault } from "@sessionplane/shared/json";
import { type Problem, fieldProblem, problem } from "@sessionplane/shared/problem";
import type { AppEnv } from "../env.ts";
import { problemReply } from "./problems.ts";

export const MAX_JSON_BYTES = 8 * 1024 * 1024;

/** Read and dropped past a limit: who is cut off while it sends does not hear why. */
const MAX_DROPPED_BYTES = 32 * 1024 * 1024;

/** The body's bytes, or null when there are more than `limit`, whatever Content-Length says. Never keeps more than that. */
export async function readLimited(stream: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array | null> {
  let chunks: Uint8Array[] = [];
  let size = 0;
  const reader = stream.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    size += read.value.byteLength;
    if (size > limit + MAX_DROPPED_BYTES) {
      await reader.cancel();
      return null;
    }
    if (size > limit) chunks = [];
    else chunks.push(read.value);
  }
  if (size > limit) return null;
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}

const FAULT_MESSAGES = {
  lone_surrogate: "holds half of a surrogate pair, which is not Unicode text",
  too_deep: "is nested too deeply",
  not_finite: "is a number that no double holds",
  proto_key: "is a key that would be lost",
} as const;

function parseJson(bytes: Uint8Array): { value: unknown } | Problem {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch {
    return problem("malformed_json", "The body could not be read as JSON in UTF-8.");
  }
  const fault = findJsonFault(value);
  return fault === null ? { value } : fieldProblem("invalid", fault.pointer, FAULT_MESSAGES[fault.code]);
}

const hasBody = (method: string): boolean => method === "POST" || method === "PUT" || method === "PATCH" || method === "DELETE";

/** For every request but streams of NDJSON, which are read line by line in their own route. */
export const readJsonBody: MiddlewareHandler<AppEnv> = createMiddleware<AppEnv>(async (c, next) => {
  const contentType = c.req.header("Content-Type") ?? "";
  if (!hasBody(c.req.method) || c.req.raw.body === null || !/^application\/(?:[\w.-]+\+)?json\b/i.test(contentType))
    return next();
  const bytes = await readLimited(c.req.raw.body, MAX_JSON_BYTES);
  if (bytes === null) return problemReply(c, problem("body_too_large", `The body has more than ${MAX_JSON_BYTES} bytes.`));
  const parsed = parseJson(bytes);
  if ("code" in parsed) return problemReply(c, parsed);
  c.req.raw = new Request(c.req.url, { method: c.req.method, headers: c.req.raw.headers, body: bytes });
  if (c.req.header("Idempotency-Key") !== undefined) c.set("canonicalBody", canonicalJson(parsed.value));
  return next();
});

/** The reply to a write that a session's object made, or made earlier for the same idempotency key. */
import type { Context } from "hono";
import type { Problem } from "@sessionplane/shared/problem";
import { type Result, ok } from "@sessionplane/shared/result";
import type { Written } from "@sessionplane/shared/rpc/session-rpc";
import type { AppEnv } from "../env.ts";
import { reply } from "./routes.ts";

export function replyWritten<T>(
  c: Context<AppEnv>,
  result: Result<Written<T>, Problem>,
  status: 200 | 201 | 202,
  headers: Record<string, string> = {},
): Response {
  if (!result.ok) return reply(c, result);
  return reply(
    c,
    ok(result.value.value),
    status,
    result.value.replayed ? { ...headers, "Idempotent-Replayed": "true" } : headers,
  );
}

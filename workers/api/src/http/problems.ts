/**
 * Where inside meets outside: the one place that turns a refusal, a validation failure or a throw into an
 * `application/problem+json` reply.
 */
import type { Context, ErrorHandler, NotFoundHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import type { z } from "@hono/zod-openapi";
import { NOT_FOUND, type FieldProblem, PROBLEMS, type Problem, problem } from "@sessionplane/shared/problem";
import type { AppEnv } from "../env.ts";
import { logError } from "../log.ts";

const SECONDS_BEFORE_RETRY = 2;

/** A part of the plane did not answer. Thrown by clients of bindings, since no caller can go on. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}

export function problemReply(c: Context<AppEnv>, refusal: Problem): Response {
  const { status, title } = PROBLEMS[refusal.code];
  const retryAfter = status === 429 || status === 503 ? { retry_after: SECONDS_BEFORE_RETRY } : {};
  const body = {
    type: `${new URL(c.req.url).origin}/docs/problems/${refusal.code}`,
    title,
    status,
    detail: refusal.detail,
    instance: new URL(c.req.url).pathname,
    code: refusal.code,
    request_id: c.get("requestId"),
    ...(refusal.errors ? { errors: refusal.errors } : {}),
    ...retryAfter,
    ...refusal.fields,
  };
  const headers: Record<string, string> = { "Content-Type": "application/problem+json" };
  if ("retry_after" in retryAfter) headers["Retry-After"] = String(SECONDS_BEFORE_RETRY);
  if (status === 401) headers["WWW-Authenticate"] = 'Bearer realm="sessionplane"';
  return c.body(JSON.stringify(body), status, headers);
}

const pointerToken = (key: PropertyKey): string => String(key).replaceAll("~", "~0").replaceAll("/", "~1");

function describeIssue(issue: z.core.$ZodIssue, prefix: string): FieldProblem[] {
  const path = issue.path.map((key) => `/${pointerToken(key)}`).join("");
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      pointer: `${prefix}${path}/${pointerToken(key)}`,
      code: "unknown_field",
      message: "this field is not known here",
    }));
  }
  return [{ pointer: `${prefix}${path}`, code: issue.code, message: issue.message }];
}

type Target = "json" | "query" | "param" | "header" | "form" | "cookie";

/** What a validator found wrong: 404 in a path, 400 for an unknown query parameter, else 422 with pointers. */
export function validationProblem(target: Target, error: z.core.$ZodError): Problem {
  if (target === "param") return NOT_FOUND;
  if (target === "query") {
    const unknown = error.issues.flatMap((issue) => (issue.code === "unrecognized_keys" ? issue.keys : []));
    if (unknown.length > 0) {
      const errors = unknown.map((key) => ({
        pointer: `?${key}`,
        code: "unknown_parameter",
        message: "this parameter is not known here",
      }));
      return problem("unknown_parameter", `Not a parameter here: ${unknown.join(", ")}.`, { errors });
    }
    const errors = error.issues.map((issue) => ({
      pointer: `?${issue.path.join(".")}`,
      code: issue.code ?? "invalid",
      message: issue.message,
    }));
    return problem("invalid", describeFirst(errors), { errors });
  }
  const errors = error.issues.flatMap((issue) => describeIssue(issue, ""));
  return problem("invalid", describeFirst(errors), { errors });
}

const describeFirst = (errors: readonly FieldProblem[]): string => {
  const [first] = errors;
  if (first === undefined) return "The request does not fit the schema.";
  const rest = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return `${first.pointer || "the body"}: ${first.message}${rest}`;
};

/** Runs after every validator of a route. */
export const onValidated = (
  result: { success: true } | { success: false; error: z.core.$ZodError; target: Target },
  c: Context<AppEnv>,
): Response | undefined => (result.success ? undefined : problemReply(c, validationProblem(result.target, result.error)));

/** What the framework itself refuses. */
const FRAMEWORK_REFUSALS: ReadonlyMap<number, Problem> = new Map([
  [400, problem("malformed_json", "The body could not be read as JSON.")],
  [413, problem("body_too_large", "The body is larger than this route takes.")],
  [415, problem("unsupported_media_type", "Send the body as application/json.")],
]);

const UNEXPECTED = problem("internal", "Something went wrong on our side. The request id finds it in the log.");

export const onError: ErrorHandler<AppEnv> = (error, c) => {
  if (error instanceof HTTPException) return problemReply(c, FRAMEWORK_REFUSALS.get(error.status) ?? UNEXPECTED);
  if (error instanceof Unavailable) {
    logError("unavailable", error, { request_id: c.get("requestId") });
    return problemReply(c, problem("unavailable", "A part of the plane did not answer. Try again."));
  }
  logError("unhandled", error, { request_id: c.get("requestId") });
  return problemReply(c, UNEXPECTED);
};

export const onNotFound: NotFoundHandler<AppEnv> = (c) => problemReply(c, NOT_FOUND);

/**
 * Every way in which the plane says no: one code, its HTTP status and its title. A reply is RFC 9457
 * `application/problem+json`. A code, once published, keeps its meaning.
 */
import * as z from "zod";

export const PROBLEMS = {
  malformed_json: { status: 400, title: "The body is not JSON" },
  unknown_parameter: { status: 400, title: "A query parameter is not known here" },
  unauthenticated: { status: 401, title: "No valid key" },
  insufficient_scope: { status: 403, title: "The key lacks a scope" },
  wrong_key_kind: { status: 403, title: "This route is for another kind of key" },
  tenant_suspended: { status: 403, title: "The tenant is suspended" },
  not_found: { status: 404, title: "Nothing is here" },
  session_full: { status: 413, title: "The session's database is full" },
  already_exists: { status: 409, title: "It exists already" },
  session_ended: { status: 409, title: "The session has ended" },
  idempotency_in_progress: { status: 409, title: "The first request with this key is still running" },
  secret_not_replayable: { status: 409, title: "The secret was shown once" },
  tool_call_closed: { status: 409, title: "The tool call has its result" },
  usage_conflict: { status: 409, title: "Another usage event has this id" },
  ambiguous_event: { status: 409, title: "Several sessions have a usage event with this id" },
  price_conflict: { status: 409, title: "Another price is in force at this instant" },
  job_not_open: { status: 409, title: "The job is already done" },
  job_not_retriable: { status: 409, title: "The job did not fail" },
  job_open: { status: 409, title: "Another job of this session is open" },
  compaction_failed: { status: 409, title: "The compaction came to no summary" },
  wrong_block_kind: { status: 409, title: "The block is of another kind" },
  erased: { status: 410, title: "The session was erased" },
  precondition_failed: { status: 412, title: "The resource has changed" },
  body_too_large: { status: 413, title: "The body is too large" },
  context_full: { status: 413, title: "The session's context is full" },
  message_too_large: { status: 413, title: "The message is too large" },
  unsupported_media_type: { status: 415, title: "The body's media type is not accepted" },
  range_not_satisfiable: { status: 416, title: "The range lies past the end" },
  invalid: { status: 422, title: "The request does not fit the schema" },
  unknown_parent: { status: 422, title: "The parent is not a message of this session" },
  unknown_message: { status: 422, title: "A message that is named is not there" },
  broken_tree: { status: 422, title: "The messages make no tree" },
  import_refused: { status: 422, title: "A line of the import is refused" },
  unknown_leaf: { status: 422, title: "The leaf is not a message of this session" },
  reserved_message_id: { status: 422, title: "The message id is reserved" },
  duplicate_message_id: { status: 422, title: "The message id is there twice" },
  role_not_allowed: { status: 422, title: "A client may not write this role" },
  part_not_allowed: { status: 422, title: "A client may not write this part" },
  block_over_limit: { status: 422, title: "The text is longer than the block may be" },
  reserved_metadata: { status: 422, title: "The message holds metadata of the server's" },
  unknown_tool_call: { status: 422, title: "The message has no such tool call" },
  broken_media: { status: 422, title: "The part's bytes can't be read" },
  unknown_attachment: { status: 422, title: "The attachment is not of this session" },
  ambiguous_usage: { status: 422, title: "The usage can be read in two ways" },
  amount_overflow: { status: 422, title: "The amount is too large" },
  idempotency_mismatch: { status: 422, title: "The key was used for another request" },
  invalid_range: { status: 422, title: "The ends are no range of one path" },
  nothing_to_compact: { status: 422, title: "There is nothing to compact" },
  too_many_sessions: { status: 422, title: "Too many sessions would have to be asked" },
  range_too_fine: { status: 422, title: "The answer would have too many parts" },
  rate_limited: { status: 429, title: "Too many requests" },
  internal: { status: 500, title: "An internal error" },
  archive_damaged: { status: 500, title: "An archived file is not what was written" },
  compaction_unfinished: { status: 503, title: "The compaction did not end in time" },
  unavailable: { status: 503, title: "A part of the plane can't be reached" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One field that is wrong: a JSON pointer into the body, `?name` for a query parameter, `{name}` for one in the path, or a header. */
export const fieldProblemSchema = z.object({ pointer: z.string(), code: z.string(), message: z.string() });
export type FieldProblem = z.infer<typeof fieldProblemSchema>;

/** A refusal as data. `fields` go into the reply beside the standard ones. */
export type Problem = {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly errors?: readonly FieldProblem[];
  readonly fields?: Readonly<Record<string, string | number | boolean | null>>;
};

export const problem = (code: ProblemCode, detail: string, extra: Omit<Problem, "code" | "detail"> = {}): Problem => ({
  code,
  detail,
  ...extra,
});

/** The same words for what never was, what is gone and what is another tenant's. */
export const NOT_FOUND: Problem = problem("not_found", "There is nothing at this path.");

/** A refusal of one field of the body. */
export const fieldProblem = (code: ProblemCode, pointer: string, message: string): Problem =>
  problem(code, message, { errors: [{ pointer, code, message }] });

export const problemReplySchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: z.string(),
    request_id: z.string(),
    errors: z.array(fieldProblemSchema).optional(),
  })
  .meta({ id: "Problem" });

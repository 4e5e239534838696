/** The one error of the library's own: a code for programs, a sentence for people. Nothing else is thrown on purpose. */

/**
 * - `unknown_message`, `unknown_parent`, `unknown_leaf`, `unknown_session`: there is none with this id here
 * - `invalid_message`: not a message: `{id, role, parts}`
 * - `reserved_message_id`: it begins with `compaction_` or `ovl_`, as only what a read makes up does
 * - `role_not_allowed`, `part_not_allowed`: a client may not write it
 * - `cycle`: a message can't hang below itself
 * - `invalid_range`: the ends of a compaction are not two messages of one path, in order
 * - `range_changed`: messages of the range were edited or deleted while it was summarised
 * - `invalid_summary`, `invalid_usage`, `invalid_argument`: what the method's docstring says of its arguments
 * - `no_compaction_function`: `onCompaction` was not called
 * - `unknown_block`: the session has no context block with this label; `duplicate_block`: it has one already
 * - `readonly_block`: nothing can be written to it; `keyed_block`: what it holds has keys, and it is written by tools
 * - `over_limit`: the text has more tokens than its block may, or more bytes than a row
 * - `provider_required`: the session's storage keeps messages alone
 * - `in_use`: a session that was used already can't become another
 * - `unsupported`: the session's storage has no such operation
 */
export type SessionErrorCode =
  | "unknown_message"
  | "unknown_parent"
  | "unknown_leaf"
  | "unknown_session"
  | "invalid_message"
  | "reserved_message_id"
  | "role_not_allowed"
  | "part_not_allowed"
  | "cycle"
  | "invalid_range"
  | "range_changed"
  | "invalid_summary"
  | "invalid_usage"
  | "invalid_argument"
  | "no_compaction_function"
  | "unknown_block"
  | "duplicate_block"
  | "readonly_block"
  | "keyed_block"
  | "over_limit"
  | "provider_required"
  | "in_use"
  | "unsupported";

export class SessionError extends Error {
  override readonly name = "SessionError";
  readonly code: SessionErrorCode;

  constructor(code: SessionErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export const unknownMessage = (id: string): SessionError =>
  new SessionError("unknown_message", `${id} is not a message of this session`);
export const unknownSession = (id: string): SessionError => new SessionError("unknown_session", `there is no session ${id}`);

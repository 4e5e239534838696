/** What happens in a session, as listeners are told it: in the order of its log, whose number is the cursor. */
export type SessionEventType = "append" | "update" | "delete" | "clear" | "leaf" | "usage" | "compact" | "compaction" | "import";

/** `data` is JSON: what of it is a message is passed on as it is stored. */
export type SessionEvent = { readonly seq: number; readonly type: SessionEventType; readonly data: string };

/**
 * A frame that tells a WebSocket how the session is after a write. Shape and names: those of Cloudflare's
 * session status, so that their clients understand it.
 */
export type StatusFrame = {
  readonly type: "cf_agent_session";
  readonly phase: "idle" | "compacting";
  readonly tokenEstimate: number;
  readonly tokenThreshold: number;
  /** After a write that was a summary: what the messages that it stands for weighed. */
  readonly compacted?: { readonly tokensBefore: number };
};

/** A compaction that came to nothing. */
export type ErrorFrame = { readonly type: "cf_agent_session_error"; readonly error: string };

export type EventFrame = {
  readonly type: "event";
  readonly event: SessionEventType;
  readonly seq: number;
  readonly data: unknown;
};

/** What a measured object is asked to do in one call, and the messages it does it with. Imported on both sides of the call. */
export const SIDES = ["ours", "published", "bare"] as const;
export type Side = (typeof SIDES)[number];

export const KINDS = ["short", "long", "tools"] as const;
export type Kind = (typeof KINDS)[number];

/** Each loops inside the object, so that a call's own cost is shared by thousands of operations. */
export type Work =
  /** Makes the session, so that the first append is like the others. */
  | { readonly op: "open" }
  /** Appends the first `count` messages of a kind, a call of the engine each. */
  | { readonly op: "append"; readonly kind: Kind; readonly count: number }
  /** One more message, that the session does not have. */
  | { readonly op: "append_one" }
  /** The whole history, to its last byte. `count`: also what was in it, which costs more. */
  | { readonly op: "history"; readonly times: number; readonly count: boolean }
  /** The newest messages of at most so many bytes. */
  | { readonly op: "recent"; readonly max_bytes: number; readonly times: number }
  | { readonly op: "leaf" }
  /** What a compaction would stand for: a walk over all that is stored of the messages but their content. */
  | { readonly op: "plan"; readonly times: number }
  /** Words of the messages in turn; the first search makes the index. */
  | { readonly op: "search"; readonly times: number }
  /** Other text for messages somewhere in the session. */
  | { readonly op: "edit"; readonly times: number }
  /** An append, and its deletion. */
  | { readonly op: "replace_one"; readonly times: number }
  /** Nothing is left to be told to anyone: as an idle session is when it is evicted. */
  | { readonly op: "settle" }
  | { readonly op: "drop" };

/** What one pass returned; `times` passes return the same. */
export type Done = { readonly messages: number; readonly bytes: number };

export const SEARCHED = ["Lisbon", "invoice", "weather", "delivery", "summarised"] as const;

export const NOTHING: Done = { messages: 0, bytes: 0 };

/** One call from outside. The objects are asked one after the other. */
export type Order =
  | { readonly prepare: Kind; readonly count: number }
  | { readonly forget: true }
  | { readonly side: Side; readonly names: readonly string[]; readonly work: Work };

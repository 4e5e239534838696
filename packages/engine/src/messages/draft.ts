/** A message on its way into the tree: measured once, and cut into rows. Pure. */
import type { Message } from "@sessionplane/shared/message";
import type { MediaRef } from "../storage/sqlite/media-store.ts";
import { splitText, utf8Bytes } from "../storage/sqlite/split-text.ts";
import { estimateMessage } from "../tokens/estimate.ts";
import { callIdsOf } from "../tree/tool-calls.ts";
import type { Media } from "./media.ts";

/** UTF-8 bytes of JSON in one row: below the platform's 2 MB for all of the row's columns. */
const MAX_ROW_BYTES = 1_572_864;

/** A message as it will be stored, whatever it hangs below. */
export type MessageDraft = {
  readonly message: Message;
  /** Its JSON: a row each. */
  readonly pieces: readonly string[];
  readonly bytes: number;
  readonly tokens: number;
  readonly callIds: string | null;
  /** The bytes that left it, and where in it they belong. */
  readonly media: readonly Media[];
  readonly refs: readonly MediaRef[];
};

type LeftOut = Pick<MessageDraft, "media" | "refs" | "tokens">;
const NOTHING: readonly never[] = [];

/** Pure. `left`: what has left the message, and the tokens that were counted before it did. */
export function draftOf(message: Message, json = JSON.stringify(message), left?: LeftOut): MessageDraft {
  const bytes = utf8Bytes(json);
  const ids = callIdsOf(message);
  const callIds = ids.length === 0 ? null : JSON.stringify(ids);
  const room = callIds === null ? MAX_ROW_BYTES : MAX_ROW_BYTES - utf8Bytes(callIds);
  return {
    message,
    pieces: bytes <= room ? [json] : splitText(json, room),
    bytes,
    tokens: left?.tokens ?? estimateMessage(message),
    callIds,
    media: left?.media ?? NOTHING,
    refs: left?.refs ?? NOTHING,
  };
}

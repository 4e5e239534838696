/** A message on its way into the tree: measured once, and cut into rows. Pure. */
import type { Message } from "@sessionplane/shared/message";
import { estimateMessage } from "../tokens/estimate.ts";
import { callIdsOf } from "../tree/tool-calls.ts";
import type { Media, MediaRef } from "./media.ts";
import { splitText, utf8Bytes } from "./split-text.ts";

/** UTF-8 bytes of JSON in one row: below the platform's 2 MB for all of the row's columns. */
const MAX_ROW_BYTES = 1_572_864;

/** What left a message: bytes that are new, every reference, and what it all weighs. */
export type LeftOut = {
  readonly media: readonly Media[];
  readonly refs: readonly MediaRef[];
  /** What a model is charged for them. */
  readonly tokens: number;
  /** Characters that they take in place, as base64. */
  readonly inlineBytes: number;
};

const NOTHING: LeftOut = { media: [], refs: [], tokens: 0, inlineBytes: 0 };

/** A message as it will be stored, whatever it hangs below. */
export type MessageDraft = {
  readonly message: Message;
  readonly json: string;
  /** The JSON: a row each. */
  readonly pieces: readonly string[];
  readonly bytes: number;
  readonly tokens: number;
  readonly callIds: string | null;
  readonly left: LeftOut;
};

/** Pure. `left`: what has left the message. */
export function draftOf(message: Message, json = JSON.stringify(message), left = NOTHING): MessageDraft {
  const bytes = utf8Bytes(json);
  const ids = callIdsOf(message);
  const callIds = ids.length === 0 ? null : JSON.stringify(ids);
  const room = callIds === null ? MAX_ROW_BYTES : MAX_ROW_BYTES - utf8Bytes(callIds);
  const pieces = bytes <= room ? [json] : splitText(json, room);
  return { message, json, pieces, bytes, tokens: estimateMessage(message) + left.tokens, callIds, left };
}

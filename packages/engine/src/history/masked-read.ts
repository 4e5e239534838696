/** A message as a history shows it: without the documents that were unloaded since. Pure. */
import { messageSchema } from "@sessionplane/shared/message";
import { withoutOutputs } from "../context/skill-calls.ts";
import { utf8Bytes } from "../messages/split-text.ts";
import type { MessageRead } from "../storage/sqlite/message-rows.ts";
import type { Masks } from "../storage/sqlite/skill-state.ts";
import { estimateMessage } from "../tokens/estimate.ts";

/** What a message weighs less without these documents. */
export function maskedRead(read: MessageRead, masks: Masks): MessageRead {
  const keys = masks.get(read.seq);
  if (keys === undefined) return read;
  const before = messageSchema.parse(JSON.parse(read.json));
  const after = withoutOutputs(before, keys);
  const json = JSON.stringify(after);
  // The difference, since what left the message counts too and is not in it.
  const tokens = read.tokens - estimateMessage(before) + estimateMessage(after);
  return { ...read, json, tokens, bytes: read.bytes - utf8Bytes(read.json) + utf8Bytes(json) };
}

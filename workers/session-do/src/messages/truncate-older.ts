/**
 * Older messages of a read with their tool outputs and long texts cut, for a model. What is stored stays; a message
 * weighs what is left of it. From where on messages are whole is worked out once for a read, as a place of the log.
 */
import { linksTo } from "@sessionplane/shared/attachment";
import { type Message, messageSchema } from "@sessionplane/shared/message";
import type { HistoryPlan, Read } from "@sessionplane/engine/history/read-history";
import { DEFAULT_TOOL_OUTPUT_CHARS, olderCount, truncateMessage } from "@sessionplane/engine/history/truncate-older";
import type { MessageRead } from "@sessionplane/engine/storage/sqlite/message-rows";
import { base64Length, valueAt } from "@sessionplane/engine/messages/media";
import { utf8Bytes } from "@sessionplane/engine/messages/split-text";
import { estimateMedia, estimateMessage } from "@sessionplane/engine/tokens/estimate";
import type { SessionStore } from "../session-store.ts";

/** Before it every message is cut: the place of the first that is whole, 0 when all are. An overlay is one message. */
export function wholeFrom(store: SessionStore, { segments, order }: HistoryPlan, step: number): number {
  const counted = segments.map((segment) => ({
    segment,
    count: segment.kind === "overlay" ? 1 : store.messages.countOn(segment.path),
  }));
  let left = olderCount(
    counted.reduce((sum, { count }) => sum + count, 0),
    { step },
  );
  if (left === 0) return 0;
  for (const { segment, count } of order === "asc" ? counted : counted.reverse()) {
    if (left < count)
      return segment.kind === "overlay" ? segment.overlay.from_seq : (store.messages.nthOn(segment.path, left) ?? 0);
    left -= count;
  }
  return Number.MAX_SAFE_INTEGER;
}

type Weight = { readonly tokens: number; readonly bytes: number };

/** The tokens and bytes of attachments whose links are no longer in the message. */
export function lostMedia(store: SessionStore, seq: number, message: Message): Weight {
  const lost = store.media.refsOf(seq).filter(({ path, id }) => !linksTo(valueAt(message, path), id));
  const sizes = lost.map(({ id, mediaType }) => ({ mediaType, bytes: store.media.find(id)?.bytes ?? 0 }));
  return {
    tokens: sizes.reduce((sum, { mediaType, bytes }) => sum + estimateMedia(mediaType, bytes), 0),
    bytes: sizes.reduce((sum, { bytes }) => sum + base64Length(bytes), 0),
  };
}

/** `inline`: the read weighs its attachments too. */
function cutRead(store: SessionStore, read: MessageRead, inline: boolean): MessageRead {
  // Too short to hold anything that is.
  if (read.json.length <= DEFAULT_TOOL_OUTPUT_CHARS) return read;
  const message = messageSchema.parse(JSON.parse(read.json));
  const cut = truncateMessage(message, {});
  if (cut === message) return read;
  const json = JSON.stringify(cut);
  const lost = lostMedia(store, read.seq, cut);
  // Those in a document that was unloaded went before.
  const gone = lostMedia(store, read.seq, message);
  const bytes = read.bytes - (utf8Bytes(read.json) - utf8Bytes(json)) - (inline ? lost.bytes - gone.bytes : 0);
  const tokens = read.tokens - (estimateMessage(message) - estimateMessage(cut)) - (lost.tokens - gone.tokens);
  return { ...read, json, bytes: Math.max(bytes, utf8Bytes(json)), tokens: Math.max(tokens, 0) };
}

/** The reads, each message that lies before a place cut. A summary is short already, and its facts come last. */
export function* truncated(store: SessionStore, reads: Iterable<Read>, before: number, inline: boolean): Generator<Read> {
  for (const read of reads) {
    yield "overlay" in read || read.seq >= before ? read : cutRead(store, read, inline);
  }
}

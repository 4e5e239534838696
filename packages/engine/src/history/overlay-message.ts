/** An overlay as the message that stands in a history. Pure. Nobody can write a message with its id. */
import { estimateText } from "../tokens/estimate.ts";
import { formatInstant } from "@sessionplane/shared/fields";
import { type OverlayId, overlayMessageId } from "@sessionplane/shared/ids";
import type { Message } from "@sessionplane/shared/message";
import type { StoredOverlay } from "../storage/sqlite/overlays.ts";

export const overlayMessage = (overlay: StoredOverlay): Message => ({
  id: overlayMessageId(overlay.id as OverlayId),
  role: "assistant",
  parts: [{ type: "text", text: overlay.summary }],
  createdAt: formatInstant(overlay.created_at),
  metadata: {
    overlay: {
      id: overlay.id,
      from_id: overlay.from_id,
      to_id: overlay.to_id,
      messages: overlay.messages,
      tokens_before: overlay.tokens_before,
      tokens_after: overlay.tokens_after,
      ...(overlay.stale === 1 ? { stale: true } : {}),
    },
  },
});

/** The framing of the message. */
const FRAME_TOKENS = 4;

/** What the message that stands for an overlay counts, in tokens. */
export const overlayTokens = (summary: string): number => estimateText(summary) + FRAME_TOKENS;

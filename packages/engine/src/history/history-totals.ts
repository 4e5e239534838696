/** What overlays change in the sums of a history, and which of them a message is under. Reads rows by key alone. */
import type { MessageTree } from "../storage/sqlite/message-tree.ts";
import type { OverlayStore, StoredOverlay } from "../storage/sqlite/overlays.ts";
import { contains, within } from "../tree/runs.ts";
import { standing } from "./apply-overlays.ts";

/** Tokens of the history to a leaf as a model sees it, whatever the length. */
export function historyTokens(messages: MessageTree, overlays: OverlayStore, leafSeq: number): number {
  if (leafSeq === 0) return 0;
  const { tokens } = messages.totalsTo(leafSeq);
  const all = overlays.all();
  if (all.length === 0) return tokens;
  return standing(all, messages.pathTo(leafSeq)).reduce((sum, one) => sum - one.tokens_before + one.tokens_after, tokens);
}

/** Overlays whose range one of these messages is in. */
export function overlaysOver(messages: MessageTree, overlays: OverlayStore, seqs: readonly number[]): StoredOverlay[] {
  return overlays.all().filter(({ from_seq: from, to_seq: to }) => {
    const range = within(messages.pathTo(to), from, to);
    return seqs.some((seq) => contains(range, seq));
  });
}

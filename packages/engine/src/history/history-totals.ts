/** What overlays and unloaded skills change in the sums of a history, and which of them a message is under. Reads rows by key alone. */
import type { MessageTree } from "../storage/sqlite/message-tree.ts";
import type { OverlayStore, StoredOverlay } from "../storage/sqlite/overlays.ts";
import type { SkillState } from "../storage/sqlite/skill-state.ts";
import { contains, within } from "../tree/runs.ts";
import { standing } from "./apply-overlays.ts";

type Stores = { readonly messages: MessageTree; readonly overlays: OverlayStore; readonly skills: SkillState };

/** Tokens of the history to a leaf as a model sees it, whatever the length. */
export function historyTokens({ messages, overlays, skills }: Stores, leafSeq: number): number {
  if (leafSeq === 0) return 0;
  const { tokens } = messages.totalsTo(leafSeq);
  const all = overlays.all();
  if (all.length === 0 && skills.masks().size === 0) return tokens;
  const path = messages.pathTo(leafSeq);
  const shown = standing(all, path);
  const hidden = skills.savingOn(path, shown).tokens;
  return shown.reduce((sum, one) => sum - one.tokens_before + one.tokens_after, tokens - hidden);
}

/** Overlays whose range one of these messages is in. */
export function overlaysOver(messages: MessageTree, overlays: OverlayStore, seqs: readonly number[]): StoredOverlay[] {
  return overlays.all().filter(({ from_seq: from, to_seq: to }) => {
    const range = within(messages.pathTo(to), from, to);
    return seqs.some((seq) => contains(range, seq));
  });
}

/** Which overlays stand on a path, and the path as stretches of messages and overlays. Pure. */
import type { Range } from "../tree/runs.ts";
import { contains, within } from "../tree/runs.ts";

/** The range of an overlay, how many messages it covers, and its place in the log: higher is newer. */
export type OverlayRange = {
  readonly seq: number;
  readonly from_seq: number;
  readonly to_seq: number;
  readonly messages: number;
};

export type Segment<O> =
  | { readonly kind: "messages"; readonly path: readonly Range[] }
  | { readonly kind: "overlay"; readonly overlay: O };

/**
 * The overlays to show on a path, in its order. One stands when both its ends are on the path; where
 * two overlap, the one that covers more wins, the newer of equals.
 */
export function standing<O extends OverlayRange>(overlays: readonly O[], path: readonly Range[]): O[] {
  const chosen: O[] = [];
  const candidates = overlays.filter((overlay) => contains(path, overlay.from_seq) && contains(path, overlay.to_seq));
  for (const overlay of candidates.toSorted((a, b) => b.messages - a.messages || b.seq - a.seq)) {
    if (chosen.every((other) => overlay.to_seq < other.from_seq || overlay.from_seq > other.to_seq)) chosen.push(overlay);
  }
  return chosen.toSorted((a, b) => a.from_seq - b.from_seq);
}

/** The path, root first: messages as they are, each overlay in place of its range. */
export function segments<O extends OverlayRange>(path: readonly Range[], overlays: readonly O[]): Segment<O>[] {
  const last = path.at(-1)?.last ?? 0;
  const result: Segment<O>[] = [];
  let from = 1;
  const addMessages = (to: number) => {
    const part = within(path, from, to);
    if (part.length > 0) result.push({ kind: "messages", path: part });
  };
  for (const overlay of overlays) {
    addMessages(overlay.from_seq - 1);
    result.push({ kind: "overlay", overlay });
    from = overlay.to_seq + 1;
  }
  addMessages(last);
  return result;
}

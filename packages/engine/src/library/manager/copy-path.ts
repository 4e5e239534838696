/**
 * The beginning of a session as another one: its originals under new ids, the compactions that fit into it, and what
 * was unloaded.
 */
import { newId } from "@sessionplane/shared/ids";
import { MAX_PAGE_BYTES, take } from "../../history/recent-window.ts";
import { NO_UPLOADS, keepMedia } from "../../messages/intake.ts";
import { within } from "../../tree/runs.ts";
import { draftMessage, restore } from "../storage/draft-message.ts";
import type { SessionTables } from "../storage/session-tables.ts";

/** Read before it is written: no write may happen while rows are walked. */
const WINDOW = { count: 200, bytes: MAX_PAGE_BYTES, tokens: Number.MAX_SAFE_INTEGER };

/** Both are tables of one database: one transaction holds the copy. `to` is empty. */
export function copyPath(from: SessionTables, to: SessionTables, leafSeq: number): void {
  const path = from.messages.pathTo(leafSeq);
  /** From the places there to those here. */
  const places = new Map<number, number>();
  const masks = from.skills.masks();
  to.atomically(() => {
    let parent = 0;
    for (let rest = path, more = true; more;) {
      const window = take(from.messages.scan(rest, "asc"), WINDOW);
      more = window.more;
      for (const read of window.taken) {
        const { draft } = draftMessage({ ...restore(from.media, read), id: crypto.randomUUID() });
        parent = to.messages.append(draft, parent, read.created_at).seq;
        if (draft.callIds !== null) {
          to.skills.note(parent, draft.message, read.created_at);
          to.skills.hide(parent, [...(masks.get(read.seq)?.keys() ?? [])]);
        }
        if (draft.left.refs.length > 0) keepMedia(to.media, parent, draft, NO_UPLOADS, read.created_at);
        places.set(read.seq, parent);
      }
      const last = window.taken.at(-1)?.seq ?? 0;
      rest = within(path, last + 1, Number.MAX_SAFE_INTEGER);
    }
    copyOverlays(from, to, places);
  });
}

function copyOverlays(from: SessionTables, to: SessionTables, places: ReadonlyMap<number, number>): void {
  for (const { retention: _retention, stale, ...overlay } of from.overlays.all()) {
    const [first, last] = [places.get(overlay.from_seq), places.get(overlay.to_seq)];
    if (first === undefined || last === undefined) continue;
    const id = newId("overlay");
    const ends = { from_seq: first, to_seq: last, from_id: to.messages.idOf(first) ?? "", to_id: to.messages.idOf(last) ?? "" };
    to.overlays.insert({ ...overlay, ...ends, id, seq: to.sequence.next(), retention: null });
    if (stale === 1) to.overlays.markStale(id, 0);
  }
}

/** `recall`: the messages behind the session's summaries, one summary's from the first on, or those with some words. */
import { messageSchema } from "@sessionplane/shared/message";
import { entryOf } from "@sessionplane/engine/compaction/transcript";
import { type Original, recallText } from "@sessionplane/engine/context/recall";
import type { Outcome, Recall } from "@sessionplane/engine/context/run-tool";
import { standing } from "@sessionplane/engine/history/apply-overlays";
import { maskedRead } from "@sessionplane/engine/history/masked-read";
import { matchExpression, parseQuery } from "@sessionplane/engine/search/query";
import type { StoredOverlay } from "@sessionplane/engine/storage/sqlite/overlays";
import { type Range, within } from "@sessionplane/engine/tree/runs";
import { buildIndex } from "../messages/search.ts";
import type { SessionStore } from "../session-store.ts";

const MAX_FOUND = 10;
const ANY_TIME = { from: 0, before: Number.MAX_SAFE_INTEGER };
/** Of the message that stands for an overlay. */
const MESSAGE_PREFIX = "compaction_";

const no = (because: string) => ({ ok: false, because }) as const;

function* originalsOn(store: SessionStore, path: readonly Range[]): Generator<Original> {
  for (const read of store.messages.scan(path, "asc")) {
    const { id, role, parts } = messageSchema.parse(JSON.parse(maskedRead(read, store.skills.masks()).json));
    yield { id, role, text: entryOf({ id, role, parts }).text };
  }
}

const rangeOf = (store: SessionStore, { from_seq: from, to_seq: to }: StoredOverlay): Range[] =>
  within(store.messages.pathTo(to), from, to);

/** What a summary that models see on the active path stands for; of none of these: any of the session's. */
function ofSummary(store: SessionStore, id: string, after: string | undefined): Outcome<string | null> {
  const overlayId = id.startsWith(MESSAGE_PREFIX) ? id.slice(MESSAGE_PREFIX.length) : id;
  const overlay = store.overlays.all().find((one) => one.id === overlayId);
  if (overlay === undefined) return no(`there is no summary "${id}"`);
  const range = rangeOf(store, overlay);
  const from = after === undefined ? 0 : store.messages.seqOf(after);
  if (from === null) return no(`there is no message "${after}"`);
  return { ok: true, value: recallText(originalsOn(store, within(range, from + 1, Number.MAX_SAFE_INTEGER))) };
}

/** The best of those that summaries stand for on the active path, in the order of the conversation. */
async function byWords(store: SessionStore, query: string, after: string | undefined): Promise<Outcome<string | null>> {
  const expression = matchExpression(parseQuery(query));
  if (expression === null) return { ok: true, value: null };
  const refused = await buildIndex(store);
  if (refused !== null) return no(refused.detail);
  const active = store.messages.pathTo(store.messages.activeLeaf());
  const path = standing(store.overlays.all(), active).flatMap((overlay) => within(active, overlay.from_seq, overlay.to_seq));
  if (path.length === 0) return { ok: true, value: null };
  const hits = store.search.find(expression, { created: ANY_TIME, path }, MAX_FOUND);
  const first = after === undefined ? 0 : (store.messages.seqOf(after) ?? 0);
  const seqs = hits.map(({ seq }) => seq).filter((seq) => seq > first);
  const ranges = seqs.toSorted((a, b) => a - b).map((seq) => ({ first: seq, last: seq }));
  return { ok: true, value: recallText(originalsOn(store, ranges)) };
}

export async function recall(store: SessionStore, { summaryId, query, after }: Recall): Promise<Outcome<string | null>> {
  if (query === undefined && summaryId !== undefined) return ofSummary(store, summaryId, after);
  return byWords(store, query ?? "", after);
}

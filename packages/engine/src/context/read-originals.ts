/**
 * The originals behind summaries, as a model asks for them: by the summary, by words, a page at a time. Reads
 * alone. Who asks by words has made the search index whole before.
 */
import { overlayIdOf } from "@sessionplane/shared/ids";
import { messageSchema } from "@sessionplane/shared/message";
import { entryOf } from "../compaction/transcript.ts";
import { standing } from "../history/apply-overlays.ts";
import { maskedRead } from "../history/masked-read.ts";
import { matchExpression, parseQuery } from "../search/query.ts";
import type { MessageTree } from "../storage/sqlite/message-tree.ts";
import type { OverlayStore, StoredOverlay } from "../storage/sqlite/overlays.ts";
import { ANY_TIME, type SearchIndex } from "../storage/sqlite/search-index.ts";
import type { SkillState } from "../storage/sqlite/skill-state.ts";
import { type Range, contains, within } from "../tree/runs.ts";
import { type Original, recallText } from "./recall.ts";
import type { Outcome, Recall } from "./run-tool.ts";

type Stores = {
  readonly messages: MessageTree;
  readonly overlays: OverlayStore;
  readonly skills: SkillState;
  readonly search: SearchIndex;
};

/** Hits that one question pages through. */
const MAX_HITS = 200;

/** Where the originals of a summary are. */
const rangesOf = ({ messages }: Stores, { from_seq: from, to_seq: to }: StoredOverlay): Range[] =>
  within(messages.pathTo(to), from, to);

/** Of one summary, or of all that the history shows. */
function rangesFor(stores: Stores, summaryId: string | undefined): Outcome<readonly Range[]> {
  const { messages, overlays } = stores;
  if (summaryId === undefined) {
    const shown = standing(overlays.all(), messages.pathTo(messages.activeLeaf()));
    return { ok: true, value: shown.flatMap((overlay) => rangesOf(stores, overlay)) };
  }
  const overlay = overlays.find(overlayIdOf(summaryId));
  if (overlay === undefined) return { ok: false, because: `there is no summary "${summaryId}"` };
  return { ok: true, value: rangesOf(stores, overlay) };
}

/** The ranges of the messages that have the words, in the order of the conversation. */
function withWords({ search }: Stores, ranges: readonly Range[], query: string): Range[] {
  const expression = matchExpression(parseQuery(query));
  if (expression === null || ranges.length === 0) return [];
  const hits = search.find(expression, { created: ANY_TIME, path: ranges }, MAX_HITS);
  return hits.map(({ seq }) => ({ first: seq, last: seq })).toSorted((a, b) => a.first - b.first);
}

/** As a history shows them: without what was unloaded. */
function* originalsIn({ messages, skills }: Stores, ranges: readonly Range[]): Generator<Original> {
  const masks = skills.masks();
  for (const read of messages.scan(ranges, "asc")) {
    const message = messageSchema.parse(JSON.parse(maskedRead(read, masks).json));
    yield { id: message.id, role: message.role, text: entryOf(message).text };
  }
}

/** A value of null: nothing was found. */
export function readOriginals(stores: Stores, { summaryId, query, after }: Recall): Outcome<string | null> {
  const ranges = rangesFor(stores, summaryId);
  if (!ranges.ok) return ranges;
  const place = after === undefined ? 0 : stores.messages.seqOf(after);
  if (place === null || (after !== undefined && !contains(ranges.value, place)))
    return { ok: false, because: `no summary stands for a message "${after}"` };
  const found = query === undefined ? ranges.value : withWords(stores, ranges.value, query);
  return { ok: true, value: recallText(originalsIn(stores, within(found, place + 1, Number.MAX_SAFE_INTEGER))) };
}

/** Searching the session's messages: all branches, or one path. */
import { formatInstant } from "@sessionplane/shared/fields";
import { messageSchema } from "@sessionplane/shared/message";
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { FoundInSession, SearchHit, SearchPage, SessionSearch } from "@sessionplane/shared/search";
import { MAX_CONTENT_UNITS, beginningOf, textOf } from "@sessionplane/engine/search/message-text";
import { type Term, matchExpression, parseQuery } from "@sessionplane/engine/search/query";
import { snippetOf } from "@sessionplane/engine/search/snippet";
import type { SearchPlace } from "@sessionplane/engine/storage/sqlite/search-index";
import { type Range, contains } from "@sessionplane/engine/tree/runs";
import type { SessionStore } from "../session-store.ts";
import { leafOf } from "./read.ts";

/** Messages that are indexed in one turn: others' requests come between two. */
const BYTES_PER_TURN = 2 * 1024 * 1024;

const FULL = problem("session_full", "The session's database has no room for a search index.");

/** Before the first search; later it is there. */
export async function buildIndex(store: SessionStore): Promise<Problem | null> {
  while (!store.search.isComplete()) {
    if (!store.hasRoomFor(BYTES_PER_TURN)) return FULL;
    store.atomically(() => store.search.build(store.messages, BYTES_PER_TURN));
    await scheduler.wait(0);
  }
  return null;
}

/** The ranges that hits must be in; undefined: anywhere. */
function pathOf(
  store: SessionStore,
  query: SessionSearch,
  active: readonly Range[],
): Result<readonly Range[] | undefined, Problem> {
  if (query.leaf_id === undefined) return ok(query.on_active_path === true ? active : undefined);
  const leaf = leafOf(store, { leaf_id: query.leaf_id });
  return leaf.ok ? ok(store.messages.pathTo(leaf.value)) : leaf;
}

function hitOf(store: SessionStore, { seq, score }: SearchPlace, terms: readonly Term[], active: readonly Range[]): SearchHit[] {
  const [read] = store.messages.scan([{ first: seq, last: seq }], "asc");
  if (read === undefined) return [];
  const message = messageSchema.parse(JSON.parse(read.json));
  const text = textOf(message);
  return [
    {
      session_id: store.row.session_id,
      message_id: read.id,
      role: message.role,
      content: beginningOf(text, MAX_CONTENT_UNITS),
      snippet: snippetOf(text, terms),
      score,
      created_at: formatInstant(read.created_at),
      on_active_path: contains(active, seq),
    },
  ];
}

export function showHits(store: SessionStore, { q, places }: FoundInSession): Result<readonly SearchHit[], Problem> {
  const active = store.messages.pathTo(store.messages.activeLeaf());
  const terms = parseQuery(q);
  return ok(places.flatMap((place) => hitOf(store, place, terms, active)));
}

export function searchMessages(store: SessionStore, query: SessionSearch): Result<SearchPage, Problem> {
  const active = store.messages.pathTo(store.messages.activeLeaf());
  const path = pathOf(store, query, active);
  if (!path.ok) return err(path.error);
  const terms = parseQuery(query.q);
  const expression = matchExpression(terms);
  if (expression === null) return ok({ hits: [], next: null });
  const { role, created, limit, after } = query;
  const filter = { created, ...(role && { role }), ...(path.value && { path: path.value }) };
  const found = store.search.find(expression, filter, limit + 1, after);
  const shown = found.slice(0, limit);
  return ok({
    hits: shown.flatMap((place) => hitOf(store, place, terms, active)),
    next: found.length > limit ? (shown.at(-1) ?? null) : null,
  });
}

/** Searching the messages of a session, all branches: the first search makes the index. */
import { formatInstant } from "@sessionplane/shared/fields";
import { messageSchema } from "@sessionplane/shared/message";
import { textOf } from "../../search/message-text.ts";
import { matchExpression, parseQuery } from "../../search/query.ts";
import { ANY_TIME } from "../../storage/sqlite/search-index.ts";
import type { SearchResult } from "../conversation.ts";
import type { SessionTables } from "./session-tables.ts";

/** What is indexed in one transaction. */
const BYTES_PER_BUILD = 2 * 1024 * 1024;

/** Indexes what is not indexed yet. */
export function completeIndex(tables: SessionTables): void {
  while (!tables.search.isComplete()) tables.atomically(() => tables.search.build(tables.messages, BYTES_PER_BUILD));
}

/** The best first. Terms are and-ed, quotes make a phrase, `term*` a beginning; any text is a query. */
export function searchMessages(tables: SessionTables, query: string, limit: number): SearchResult[] {
  const expression = matchExpression(parseQuery(query));
  if (expression === null) return [];
  completeIndex(tables);
  return tables.search.find(expression, { created: ANY_TIME }, limit).flatMap(({ seq, score }) => {
    const [read] = tables.messages.scan([{ first: seq, last: seq }], "asc");
    if (read === undefined) return [];
    const message = messageSchema.parse(JSON.parse(read.json));
    return [{ id: read.id, role: message.role, content: textOf(message), createdAt: formatInstant(read.created_at), score }];
  });
}

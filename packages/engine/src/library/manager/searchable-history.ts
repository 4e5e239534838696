/** The conversations of a manager's sessions, searched by a model: as a block's provider and as a tool of its own. */
import type { SearchProvider } from "../../context/providers.ts";
import { resultsText } from "../../context/results-text.ts";
import { searchSessions } from "../../context/run-tool.ts";
import { toolDefinitions } from "../../context/tools.ts";
import { type SessionTools, sessionTools } from "../context/session-tools.ts";

/** What is asked of the manager. */
export type Histories = {
  readonly count: () => number;
  /** The best first. */
  readonly search: (query: string, limit: number) => Promise<readonly { readonly role: string; readonly content: string }[]>;
};

const MAX_RESULTS = 10;

/** Null: nothing was found. */
async function found({ search }: Histories, query: string): Promise<string | null> {
  const hits = await search(query, MAX_RESULTS);
  return resultsText(hits.map(({ role, content }) => ({ heading: role, content })));
}

/** Nothing can be written into it. */
export const historyProvider = (histories: Histories): SearchProvider => ({
  get: () => {
    const count = histories.count();
    return `${count} ${count === 1 ? "session" : "sessions"} available for search.`;
  },
  search: (query) => found(histories, query),
});

/** `session_search` alone. */
export const historyTools = (histories: Histories): SessionTools =>
  sessionTools(toolDefinitions([], { sessionSearch: true, recall: false }), (_name, args) =>
    searchSessions(args, (query) => found(histories, query)),
  );

/** Entries of the object that are searched by their words: one collection for each label, whichever session names it. */
import type { SearchProvider } from "../../context/providers.ts";
import type { SessionHost } from "../host.ts";
import { ObjectContext } from "../storage/object-context.ts";
import { checkSize } from "../storage/text-store.ts";

const MAX_RESULTS = 10;

export class AgentSearchProvider implements SearchProvider {
  readonly #stored: ObjectContext;
  #label = "";

  constructor(host: SessionHost) {
    this.#stored = new ObjectContext(host);
  }

  init(label: string): void {
    this.#label = label;
  }

  /** Null while there are none. */
  get(): string | null {
    const count = this.#stored.entries?.count(this.#label) ?? 0;
    return count === 0 ? null : `${count} entries indexed.`;
  }

  /** The best first, each below its key. Every word of the query is in it, and any text is a query. */
  search(query: string): string | null {
    const found = this.#stored.entries?.search(this.#label, query, MAX_RESULTS) ?? [];
    return found.length === 0 ? null : found.map(({ key, content }) => `[${key}]\n${content}`).join("\n\n");
  }

  /** In place of what the key had. Throws `over_limit`. */
  set(key: string, content: string): void {
    checkSize(content);
    this.#stored.write(({ entries }) => entries.put(this.#label, key, { content }, Date.now()));
  }
}

/**
 * The full-text index over messages, by their seq: made when it is first asked for, then kept with every
 * write. It holds words alone: a hit's text is read from the message. Writes are synchronous; a caller puts
 * them in the transaction of the message's own write.
 */
import { type Message, messageSchema } from "@sessionplane/shared/message";
import { textOf } from "../../search/message-text.ts";
import { WORDS_VERSION } from "../../search/words.ts";
import type { Range } from "../../tree/runs.ts";
import type { Sql } from "./database.ts";
import type { MessageRead } from "./message-rows.ts";
import { SCORE, WordIndex } from "./word-index.ts";

const SAVE = "INSERT OR REPLACE INTO [search_state] (only, next_seq, words) VALUES (1, ?, ?)";

/** Every message is in the index, and every new one belongs into it. */
const COMPLETE = Number.MAX_SAFE_INTEGER;

const ON_PATH = `EXISTS (SELECT 1 FROM json_each(?) range
  WHERE [search_index].rowid BETWEEN range.value ->> 'first' AND range.value ->> 'last')`;

/** `created`: at least `from`, before `before`; epoch milliseconds. `path`: only messages of these ranges. */
export type SearchFilter = {
  readonly role?: string;
  readonly created: { readonly from: number; readonly before: number };
  readonly path?: readonly Range[];
};
export const ANY_TIME: SearchFilter["created"] = { from: 0, before: Number.MAX_SAFE_INTEGER };

/** A place in the order of hits: the best first, and of equal ones the newest. */
export type SearchPlace = { readonly score: number; readonly seq: number };

type Scan = { scan(path: readonly Range[], order: "asc" | "desc"): Iterable<MessageRead> };

export class SearchIndex {
  readonly #sql: Sql;
  readonly #words: WordIndex;
  /** Null: there is no index, or one of other words. */
  #next: number | null | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#words = new WordIndex(sql);
  }

  forget(): void {
    this.#next = undefined;
  }

  #nextSeq(): number | null {
    if (this.#next === undefined) {
      const sql = "SELECT next_seq FROM [search_state] WHERE words = ?";
      this.#next = this.#sql.exec<{ next_seq: number }>(sql, WORDS_VERSION).toArray()[0]?.next_seq ?? null;
    }
    return this.#next;
  }

  #save(next: number): void {
    this.#sql.exec(SAVE, next, WORDS_VERSION);
    this.#next = next;
  }

  /** Whether a message of this seq has its place in the index: a write of it writes here too. */
  covers(seq: number): boolean {
    const next = this.#nextSeq();
    return next !== null && seq < next;
  }

  /** A message that is new or has other content. One that is still to be indexed comes in its turn. */
  put(seq: number, message: Pick<Message, "parts">): void {
    if (!this.covers(seq)) return;
    this.#words.put(seq, textOf(message));
  }

  delete(seqs: readonly number[]): void {
    for (const seq of seqs) if (this.covers(seq)) this.#words.delete(seq);
  }

  clear(): void {
    if (this.#nextSeq() === null) return;
    this.#words.clear();
    this.#save(COMPLETE);
  }

  isComplete(): boolean {
    return this.#nextSeq() === COMPLETE;
  }

  /** Indexes some of what is not indexed yet, at least one message. Call it until `isComplete`. */
  build(messages: Scan, maxBytes: number): void {
    if (this.#nextSeq() === null) {
      this.#words.create();
      this.#words.clear();
    }
    const taken: MessageRead[] = [];
    let bytes = 0;
    for (const read of messages.scan([{ first: this.#nextSeq() ?? 0, last: COMPLETE }], "asc")) {
      taken.push(read);
      bytes += read.bytes;
      if (bytes >= maxBytes) break;
    }
    const last = taken.at(-1);
    this.#save(last === undefined || bytes < maxBytes ? COMPLETE : last.seq + 1);
    for (const { seq, json } of taken) this.put(seq, messageSchema.parse(JSON.parse(json)));
  }

  /** `expression`: of `search/query.ts`. Reads every row that matches, since all of them are ranked. */
  find(expression: string, filter: SearchFilter, limit: number, after?: SearchPlace): SearchPlace[] {
    const { role, created, path } = filter;
    const isDated = created.from > 0 || created.before < Number.MAX_SAFE_INTEGER;
    const conditions = [
      "[search_index] MATCH ?",
      ...(isDated ? ["created_at >= ? AND created_at < ?"] : []),
      ...(role === undefined ? [] : ["role = ?"]),
      ...(path === undefined ? [] : [ON_PATH]),
    ];
    const values = [
      expression,
      ...(isDated ? [created.from, created.before] : []),
      ...(role === undefined ? [] : [role]),
      ...(path === undefined ? [] : [JSON.stringify(path)]),
    ];
    // Every match would be looked up: only when something is asked of it that the index does not know.
    const looksAtMessages = isDated || role !== undefined;
    const joined = looksAtMessages ? "JOIN [messages] ON [messages].seq = [search_index].rowid" : "";
    const hits = `SELECT [search_index].rowid AS seq, ${SCORE} AS score FROM [search_index] ${joined} WHERE ${conditions.join(" AND ")}`;
    const from = after === undefined ? "" : "WHERE score < ? OR (score = ? AND seq < ?)";
    return this.#sql
      .exec<SearchPlace>(
        `SELECT seq, score FROM (${hits}) ${from} ORDER BY score DESC, seq DESC LIMIT ?`,
        ...values,
        ...(after === undefined ? [] : [after.score, after.score, after.seq]),
        limit,
      )
      .toArray();
  }
}

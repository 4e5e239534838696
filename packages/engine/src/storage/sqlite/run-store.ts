/**
 * The `runs` table. A run begins at `first`, below `parent` (0: a root), and holds every seq up to the next
 * run. Rows are never changed: a deleted message leaves a gap in its run, and paths skip it.
 */
import type { Sql } from "./database.ts";
import type { Range, Run, RunEnd } from "../../tree/runs.ts";

/** The last place of the newest run, which has no end. */
const NO_END = Number.MAX_SAFE_INTEGER;

const PATH = `
  WITH RECURSIVE path (first, last, parent) AS (
    SELECT first_seq, ?1, parent_seq FROM [runs] WHERE first_seq = (SELECT max(first_seq) FROM [runs] WHERE first_seq <= ?1)
    UNION ALL
    SELECT run.first_seq, path.parent, run.parent_seq FROM path
    JOIN [runs] run ON run.first_seq = (SELECT max(first_seq) FROM [runs] WHERE first_seq <= path.parent))
  SELECT first, last FROM path`;

/** Each run's last message that is still there, and whether the message that it was begun below is. */
const ENDS = `
  WITH bounded AS (SELECT first_seq, parent_seq, lead(first_seq, 1, ${NO_END}) OVER (ORDER BY first_seq) AS next FROM [runs])
  SELECT parent_seq, (SELECT max(seq) FROM [messages] WHERE seq >= first_seq AND seq < next) AS last,
    EXISTS (SELECT 1 FROM [messages] WHERE seq = parent_seq) AS parent_stands
  FROM bounded ORDER BY first_seq`;

export class RunStore {
  readonly #sql: Sql;
  /** Where the newest run begins, 0 before the first. */
  #newestFirst: number | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  forget(): void {
    this.#newestFirst = undefined;
  }

  newestFirst(): number {
    this.#newestFirst ??= this.#sql.exec<{ first: number | null }>("SELECT max(first_seq) AS first FROM [runs]").one().first ?? 0;
    return this.#newestFirst;
  }

  begin(first: number, parent: number): void {
    this.#sql.exec("INSERT INTO [runs] (first_seq, parent_seq) VALUES (?, ?)", first, parent);
    this.#newestFirst = first;
  }

  /** The run that holds a seq; null for one from before the session was cleared. */
  at(seq: number): Run | null {
    const row = this.#sql
      .exec<{ first_seq: number; parent_seq: number }>(
        "SELECT first_seq, parent_seq FROM [runs] WHERE first_seq <= ? ORDER BY first_seq DESC LIMIT 1",
        seq,
      )
      .toArray()[0];
    return row === undefined ? null : { first: row.first_seq, parent: row.parent_seq };
  }

  /** The last seq of the run that holds this one. */
  endOf(seq: number): number {
    const row = this.#sql
      .exec<{ next: number | null }>("SELECT min(first_seq) AS next FROM [runs] WHERE first_seq > ?", seq)
      .one();
    return row.next === null ? NO_END : row.next - 1;
  }

  /** The path to a leaf as ranges, root first. One query, whatever the depth. */
  pathTo(leaf: number): Range[] {
    if (leaf === 0) return [];
    if (this.newestFirst() <= leaf) {
      const run = this.at(leaf);
      if (run?.parent === 0) return [{ first: run.first, last: leaf }];
    }
    return this.#sql.exec<Range>(PATH, leaf).toArray().reverse();
  }

  /** Runs that were begun below a seq of this range. */
  begunBelow({ first, last }: Range): number[] {
    return this.#sql
      .exec<{ first_seq: number }>("SELECT first_seq FROM [runs] WHERE parent_seq BETWEEN ? AND ?", first, last)
      .toArray()
      .map((row) => row.first_seq);
  }

  /** In order. */
  all(): Run[] {
    return this.#sql.exec<Run>("SELECT first_seq AS first, parent_seq AS parent FROM [runs] ORDER BY first_seq").toArray();
  }

  ends(): RunEnd[] {
    return this.#sql.exec<RunEnd>(ENDS).toArray();
  }

  clear(): void {
    this.#sql.exec("DELETE FROM [runs]");
    this.#newestFirst = 0;
  }
}

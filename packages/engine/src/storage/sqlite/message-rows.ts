/** The tables `messages` and `continuations`: rows and their content, whatever hangs below what. */
import type { Sql } from "./database.ts";
import type { Range } from "../../tree/runs.ts";

export type MessageRow = {
  readonly seq: number;
  readonly id: string;
  readonly role: string;
  readonly created_at: number;
  readonly tokens: number;
  readonly path_tokens: number;
  readonly bytes: number;
  readonly path_bytes: number;
  readonly ordinal: number;
  readonly call_ids: string | null;
  readonly continuations: number;
  readonly json: string;
};

const META = "seq, id, role, created_at, tokens, path_tokens, bytes, path_bytes, ordinal, call_ids, continuations";
const INSERT = `INSERT INTO [messages] (${META}, json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`;
const UPDATE = `UPDATE [messages] SET role = ?, tokens = ?, path_tokens = ?, bytes = ?, path_bytes = ?, call_ids = ?,
  continuations = ?, json = ? WHERE seq = ?`;
const READ = "seq, id, created_at, tokens, bytes, continuations, json";
const SCAN = {
  asc: `SELECT ${READ} FROM [messages] WHERE seq BETWEEN ? AND ? ORDER BY seq`,
  desc: `SELECT ${READ} FROM [messages] WHERE seq BETWEEN ? AND ? ORDER BY seq DESC`,
};
/** A path of many short runs: the ranges come in order, and the rows of one in order of seq. Newest first it would sort. */
const SCAN_MANY = `SELECT ${READ.replaceAll(/\w+/g, "messages.$&")} FROM json_each(?) range
  CROSS JOIN [messages] messages ON seq BETWEEN range.value ->> 'first' AND range.value ->> 'last'`;
const RANGES_PER_QUERY = 64;

/** A row without its content: what planning and totals need. */
export type MessageMetaRow = Omit<MessageRow, "json">;

/** What a read of a message needs. */
export type MessageRead = Pick<MessageRow, "seq" | "id" | "created_at" | "tokens" | "bytes" | "json">;

/** The columns of READ by place: an object of the driver's for each row takes three times as long. */
type ReadTuple = [
  seq: number,
  id: string,
  created_at: number,
  tokens: number,
  bytes: number,
  continuations: number,
  json: string,
];

/** What planning and totals need of a message. */
export type MessageWeight = Pick<MessageRow, "seq" | "id" | "role" | "bytes" | "tokens" | "call_ids">;
type WeightTuple = [seq: number, id: string, role: string, bytes: number, tokens: number, call_ids: string | null];
const SCAN_WEIGHTS = "SELECT seq, id, role, bytes, tokens, call_ids FROM [messages] WHERE seq BETWEEN ? AND ? ORDER BY seq";

export class MessageRows {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** False when a message with this id is there already: then nothing is written. */
  insert(row: MessageRow, rest: readonly string[]): boolean {
    const written = this.#sql.exec(
      INSERT,
      row.seq,
      row.id,
      row.role,
      row.created_at,
      row.tokens,
      row.path_tokens,
      row.bytes,
      row.path_bytes,
      row.ordinal,
      row.call_ids,
      row.continuations,
      row.json,
    );
    if (written.rowsWritten === 0) return false;
    if (rest.length > 0) this.#continue(row.seq, rest);
    return true;
  }

  /** The row with other content; its place, id and time stay. */
  replace(row: MessageRow, rest: readonly string[]): void {
    this.#sql.exec(
      UPDATE,
      ...[row.role, row.tokens, row.path_tokens, row.bytes, row.path_bytes, row.call_ids, row.continuations, row.json, row.seq],
    );
    this.#sql.exec("DELETE FROM [continuations] WHERE seq = ?", row.seq);
    this.#continue(row.seq, rest);
  }

  #continue(seq: number, rest: readonly string[]): void {
    rest.forEach((piece, position) => {
      this.#sql.exec("INSERT INTO [continuations] (seq, position, json) VALUES (?, ?, ?)", seq, position, piece);
    });
  }

  delete(seq: number): void {
    this.#sql.exec("DELETE FROM [messages] WHERE seq = ?", seq);
    this.#sql.exec("DELETE FROM [continuations] WHERE seq = ?", seq);
  }

  clear(): void {
    this.#sql.exec("DELETE FROM [messages]");
    this.#sql.exec("DELETE FROM [continuations]");
  }

  seqOf(id: string): number | null {
    return this.#sql.exec<{ seq: number }>("SELECT seq FROM [messages] WHERE id = ?", id).toArray()[0]?.seq ?? null;
  }

  meta(seq: number): MessageMetaRow | null {
    return this.#sql.exec<MessageMetaRow>(`SELECT ${META} FROM [messages] WHERE seq = ?`, seq).toArray()[0] ?? null;
  }

  newest(): MessageMetaRow | null {
    return this.#sql.exec<MessageMetaRow>(`SELECT ${META} FROM [messages] ORDER BY seq DESC LIMIT 1`).toArray()[0] ?? null;
  }

  /** The first or the last seq of a range that holds a message; null when none does. */
  firstIn({ first, last }: Range): number | null {
    const sql = "SELECT min(seq) AS seq FROM [messages] WHERE seq BETWEEN ? AND ?";
    return this.#sql.exec<{ seq: number | null }>(sql, first, last).one().seq;
  }

  lastIn({ first, last }: Range): number | null {
    const sql = "SELECT max(seq) AS seq FROM [messages] WHERE seq BETWEEN ? AND ?";
    return this.#sql.exec<{ seq: number | null }>(sql, first, last).one().seq;
  }

  /** Ordinals leave none out until a message of the session is deleted (`hasGaps`): then rows are counted, before that two are read. */
  #countIn({ first, last }: Range, hasGaps: boolean): number {
    const inRange = "FROM [messages] WHERE seq BETWEEN ? AND ?";
    const end = (order: string): string => `(SELECT ordinal ${inRange} ORDER BY seq ${order} LIMIT 1)`;
    if (hasGaps) return this.#sql.exec<{ count: number }>(`SELECT count(*) AS count ${inRange}`, first, last).one().count;
    const sql = `SELECT coalesce(${end("DESC")} - ${end("ASC")} + 1, 0) AS count`;
    return this.#sql.exec<{ count: number }>(sql, first, last, first, last).one().count;
  }

  countOn(path: readonly Range[], hasGaps: boolean): number {
    return path.reduce((sum, range) => sum + this.#countIn(range, hasGaps), 0);
  }

  /** The message of a path that so many come before; null when there are no more. Reads from the nearer end of its range. */
  nthOn(path: readonly Range[], before: number, hasGaps: boolean): number | null {
    let left = before;
    for (const range of path) {
      const count = this.#countIn(range, hasGaps);
      if (left < count) {
        const [order, passed] = left <= count - 1 - left ? ["ASC", left] : ["DESC", count - 1 - left];
        const sql = `SELECT seq FROM [messages] WHERE seq BETWEEN ? AND ? ORDER BY seq ${order} LIMIT 1 OFFSET ?`;
        return this.#sql.exec<{ seq: number }>(sql, range.first, range.last, passed).one().seq;
      }
      left -= count;
    }
    return null;
  }

  read(seq: number): MessageRead | null {
    const [row] = this.scan([{ first: seq, last: seq }], "asc");
    return row ?? null;
  }

  /** The messages of a path or a part of it, in either order, as they are read. No write may happen while it is walked. */
  *scan(path: readonly Range[], order: "asc" | "desc"): Generator<MessageRead> {
    for (const rows of order === "asc" ? this.#oldestFirst(path) : this.#newestFirst(path)) {
      for (const [seq, id, created_at, tokens, bytes, continuations, first] of rows.raw<ReadTuple>()) {
        const json = continuations === 0 ? first : first + this.#rest(seq);
        yield { seq, id, created_at, tokens, bytes, json };
      }
    }
  }

  *#oldestFirst(path: readonly Range[]) {
    for (let at = 0; at < path.length; at += RANGES_PER_QUERY) {
      const [one, ...others] = path.slice(at, at + RANGES_PER_QUERY);
      if (one === undefined) return;
      yield others.length === 0
        ? this.#sql.exec(SCAN.asc, one.first, one.last)
        : this.#sql.exec(SCAN_MANY, JSON.stringify([one, ...others]));
    }
  }

  *#newestFirst(path: readonly Range[]) {
    for (const { first, last } of path.toReversed()) yield this.#sql.exec(SCAN.desc, first, last);
  }

  /** The same without content. */
  *scanMeta({ first, last }: Range): Generator<MessageWeight> {
    const rows = this.#sql.exec(SCAN_WEIGHTS, first, last).raw<WeightTuple>();
    for (const [seq, id, role, bytes, tokens, call_ids] of rows) yield { seq, id, role, bytes, tokens, call_ids };
  }

  /** What a split message has in further rows. */
  #rest(seq: number): string {
    return this.#sql
      .exec<{ json: string }>("SELECT json FROM [continuations] WHERE seq = ? ORDER BY position", seq)
      .toArray()
      .map((piece) => piece.json)
      .join("");
  }
}

/**
 * The tree of messages: rows with a rising seq, paths as runs of them. Writes are synchronous; a caller
 * that writes more than one row puts the calls in one `transactionSync`, and calls `forget` when it fails.
 */
import type { Message } from "@sessionplane/shared/message";
import { estimateMessage } from "../../tokens/estimate.ts";
import { type Range, type Run, pathTo } from "../../tree/runs.ts";
import { callIdsOf } from "../../tree/tool-calls.ts";
import type { Sequence } from "./sequence.ts";
import { splitText, utf8Bytes } from "./split-text.ts";

/** UTF-8 bytes of JSON in one row: below the platform's 2 MB for all of the row's columns. */
const MAX_ROW_BYTES = 1_572_864;

type MessageRow = {
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
const COLUMNS = `${META}, json`;

/** A row without its content: what planning and totals need. */
export type MessageMetaRow = Omit<MessageRow, "json">;

/** What a read of a message needs. */
export type MessageRead = Pick<MessageRow, "seq" | "id" | "created_at" | "tokens" | "bytes" | "json">;
const READ = "seq, id, created_at, tokens, bytes, continuations, json";
type ReadTuple = [
  seq: number,
  id: string,
  created_at: number,
  tokens: number,
  bytes: number,
  continuations: number,
  json: string,
];

export type MessageDraft = {
  readonly message: Message;
  /** Its JSON: a row each. */
  readonly pieces: readonly string[];
  readonly bytes: number;
  readonly tokens: number;
  readonly callIds: readonly string[];
};

/** What a path has added up to at its leaf. */
type Totals = Pick<MessageRow, "path_tokens" | "path_bytes">;
const NOTHING: Totals = { path_tokens: 0, path_bytes: 0 };

export class MessageStore {
  readonly #sql: SqlStorage;
  readonly #sequence: Sequence;
  /** The newest message, which the next append most often hangs below. */
  #newest: MessageMetaRow | null | undefined;

  constructor(sql: SqlStorage, sequence: Sequence) {
    this.#sql = sql;
    this.#sequence = sequence;
  }

  forget(): void {
    this.#newest = undefined;
  }

  newest(): MessageMetaRow | null {
    if (this.#newest === undefined)
      this.#newest =
        this.#sql.exec<MessageMetaRow>(`SELECT ${META} FROM messages ORDER BY seq DESC LIMIT 1`).toArray()[0] ?? null;
    return this.#newest;
  }

  count(): number {
    return this.newest()?.ordinal ?? 0;
  }

  /** A message as it will be stored, whatever it hangs below. Reads and writes nothing. */
  draft(message: Message): MessageDraft {
    const json = JSON.stringify(message);
    const pieces = splitText(json, MAX_ROW_BYTES);
    return { message, pieces, bytes: utf8Bytes(json), tokens: estimateMessage(message), callIds: callIdsOf(message) };
  }

  /** Whether the append is one statement: it goes on the last run, in one row. */
  isPlain(draft: MessageDraft, parentSeq: number): boolean {
    return draft.pieces.length === 1 && this.#extendsRun(parentSeq);
  }

  #extendsRun(parentSeq: number): boolean {
    return this.newest()?.seq === parentSeq;
  }

  /**
   * Writes a message below `parentSeq` (0: as a root). The first content of an id stands: a second one
   * changes nothing and the stored seq is returned.
   */
  append(draft: MessageDraft, parentSeq: number, now: number): { readonly seq: number; readonly inserted: boolean } {
    const { message, bytes, tokens, callIds } = draft;
    const [first = "", ...rest] = draft.pieces;
    const parent = this.#totalsAt(parentSeq);
    const row: MessageRow = {
      seq: this.#sequence.head + 1,
      id: message.id,
      role: message.role,
      created_at: now,
      tokens,
      path_tokens: parent.path_tokens + tokens,
      bytes,
      path_bytes: parent.path_bytes + bytes,
      ordinal: this.count() + 1,
      call_ids: callIds.length === 0 ? null : JSON.stringify(callIds),
      continuations: rest.length,
      json: first,
    };
    const extendsRun = this.#extendsRun(parentSeq);
    const written = this.#sql.exec(
      `INSERT INTO messages (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
      ...[row.seq, row.id, row.role, row.created_at, row.tokens, row.path_tokens, row.bytes, row.path_bytes, row.ordinal],
      ...[row.call_ids, row.continuations, row.json],
    );
    if (written.rowsWritten === 0) return { seq: this.seqOf(message.id) ?? 0, inserted: false };
    this.#sequence.next();
    rest.forEach((piece, position) => {
      this.#sql.exec("INSERT INTO continuations (seq, position, json) VALUES (?, ?, ?)", row.seq, position, piece);
    });
    if (!extendsRun) this.#sql.exec("INSERT INTO runs (first_seq, parent_seq) VALUES (?, ?)", row.seq, parentSeq);
    const { json: _json, ...meta } = row;
    this.#newest = meta;
    return { seq: row.seq, inserted: true };
  }

  #totalsAt(seq: number): Totals {
    if (seq === 0) return NOTHING;
    return this.#newest?.seq === seq ? this.#newest : this.meta(seq);
  }

  seqOf(id: string): number | null {
    return this.#sql.exec<{ seq: number }>("SELECT seq FROM messages WHERE id = ?", id).toArray()[0]?.seq ?? null;
  }

  /** Throws when there is no such row: a seq comes from the tree itself. */
  meta(seq: number): MessageMetaRow {
    return this.#sql.exec<MessageMetaRow>(`SELECT ${META} FROM messages WHERE seq = ?`, seq).one();
  }

  find(id: string): MessageRead | null {
    const seq = this.seqOf(id);
    if (seq === null) return null;
    const [row] = this.scan({ first: seq, last: seq }, "asc");
    return row ?? null;
  }

  pathTo(leafSeq: number): Range[] {
    return pathTo(leafSeq, (seq) => this.#runAt(seq));
  }

  #runAt(seq: number): Run {
    const row = this.#sql
      .exec<{ first_seq: number; parent_seq: number }>(
        "SELECT first_seq, parent_seq FROM runs WHERE first_seq <= ? ORDER BY first_seq DESC LIMIT 1",
        seq,
      )
      .one();
    return { first: row.first_seq, parent: row.parent_seq };
  }

  /** The message above, or null for a root. */
  parentOf(seq: number): { readonly seq: number; readonly id: string } | null {
    const run = this.#runAt(seq);
    const above = this.#sql
      .exec<{ seq: number; id: string }>(
        "SELECT seq, id FROM messages WHERE seq >= ? AND seq < ? ORDER BY seq DESC LIMIT 1",
        run.first,
        seq,
      )
      .toArray()[0];
    if (above !== undefined) return above;
    return run.parent === 0 ? null : { seq: run.parent, id: this.meta(run.parent).id };
  }

  /** The messages of a range as they are read, in either order. No write may happen while it is walked. */
  *scan(range: Range, order: "asc" | "desc"): Generator<MessageRead> {
    const sql = `SELECT ${READ} FROM messages WHERE seq BETWEEN ? AND ? ORDER BY seq ${order === "asc" ? "ASC" : "DESC"}`;
    // Columns by place: an object of the driver's for each row takes three times as long.
    for (const row of this.#sql.exec(sql, range.first, range.last).raw<ReadTuple>()) {
      const [seq, id, created_at, tokens, bytes, continuations, first] = row;
      const json = continuations === 0 ? first : first + this.#rest(seq);
      yield { seq, id, created_at, tokens, bytes, json };
    }
  }

  /** The same without content. */
  scanMeta(range: Range): Iterable<MessageMetaRow> {
    return this.#sql.exec<MessageMetaRow>(
      `SELECT ${META} FROM messages WHERE seq BETWEEN ? AND ? ORDER BY seq`,
      range.first,
      range.last,
    );
  }

  /** What a split message has in further rows. */
  #rest(seq: number): string {
    return this.#sql
      .exec<{ json: string }>("SELECT json FROM continuations WHERE seq = ? ORDER BY position", seq)
      .toArray()
      .map((piece) => piece.json)
      .join("");
  }
}

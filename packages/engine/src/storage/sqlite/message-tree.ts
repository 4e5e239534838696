/**
 * The tree of messages: rows with a rising seq, paths as runs of them. Writes are synchronous; a caller
 * that writes more than one row puts the calls in one `transactionSync`, and calls `forget` when it fails.
 */
import type { Sql } from "./database.ts";
import type { MessageDraft } from "../../messages/draft.ts";
import { leavesBelow, leavesOf } from "../../tree/leaves.ts";
import type { Range } from "../../tree/runs.ts";
import { EditStore, NO_SIZE, type Size } from "./edit-store.ts";
import { type MessageMetaRow, type MessageRead, type MessageRow, type MessageWeight, MessageRows } from "./message-rows.ts";
import { RunStore } from "./run-store.ts";
import type { Sequence } from "./sequence.ts";
import { type TreeRow, TreeRowStore } from "./tree-row.ts";

/** What a message's edit or removal changes in the sums of the paths through it. */
type Change = { readonly seq: number; readonly by: Size };

export class MessageTree {
  readonly #sequence: Sequence;
  readonly #rows: MessageRows;
  readonly #runs: RunStore;
  readonly #edits: EditStore;
  readonly #state: TreeRowStore;
  /** The newest message, which the next append most often hangs below. */
  #newest: MessageMetaRow | null | undefined;
  /** What the sums stored at the newest message are off by. */
  #newestEdits: Size | undefined;

  constructor(sql: Sql, sequence: Sequence) {
    this.#sequence = sequence;
    this.#rows = new MessageRows(sql);
    this.#runs = new RunStore(sql);
    this.#edits = new EditStore(sql);
    this.#state = new TreeRowStore(sql);
  }

  /** What memory says may have been rolled back. */
  forget(): void {
    this.#newest = undefined;
    this.#newestEdits = undefined;
    for (const store of [this.#runs, this.#edits, this.#state]) store.forget();
  }

  newest(): MessageMetaRow | null {
    if (this.#newest === undefined) this.#newest = this.#rows.newest();
    return this.#newest;
  }

  count(): number {
    return (this.newest()?.ordinal ?? 0) - this.#state.get().removed;
  }

  /** 0 in a session without messages. A chosen leaf holds until a message is written after the choice. */
  activeLeaf(): number {
    const newest = this.newest()?.seq ?? 0;
    const { leaf_seq: chosen, leaf_chosen_at: at } = this.#state.get();
    return newest > at ? newest : chosen;
  }

  /** The place in the log of the last edit, deletion or choice of a leaf. */
  changedSeq(): number {
    return this.#state.get().changed_seq;
  }

  /** When a message was last written, edited or deleted, or a leaf chosen; epoch milliseconds, 0: never. */
  updatedAt(): number {
    return Math.max(this.newest()?.created_at ?? 0, this.#state.get().changed_at);
  }

  // Writing

  /** Whether the append is one statement: it goes on the last run, in one row, and nothing has left it. */
  isPlain(draft: MessageDraft, parentSeq: number): boolean {
    return draft.pieces.length === 1 && draft.left.refs.length === 0 && this.#extendsRun(parentSeq);
  }

  /** A message goes on the newest run when it hangs below the newest message, and nothing after that was deleted. */
  #extendsRun(parentSeq: number): boolean {
    return this.newest()?.seq === parentSeq && this.#edits.lastSeq() <= parentSeq;
  }

  /**
   * Writes a message below `parentSeq` (0: as a root). The first content of an id stands: a second one
   * changes nothing and the stored seq is returned.
   */
  append(draft: MessageDraft, parentSeq: number, now: number): { readonly seq: number; readonly inserted: boolean } {
    const newest = this.newest();
    const parent = newest?.seq === parentSeq ? newest : this.#rows.meta(parentSeq);
    const row: MessageRow = {
      seq: this.#sequence.head + 1,
      id: draft.message.id,
      role: draft.message.role,
      created_at: now,
      tokens: draft.tokens,
      path_tokens: (parent?.path_tokens ?? 0) + draft.tokens,
      bytes: draft.bytes,
      path_bytes: (parent?.path_bytes ?? 0) + draft.bytes,
      ordinal: (newest?.ordinal ?? 0) + 1,
      call_ids: draft.callIds,
      continuations: draft.pieces.length - 1,
      json: draft.pieces[0] ?? "",
    };
    const extendsRun = this.#extendsRun(parentSeq);
    if (!this.#rows.insert(row, draft.pieces.slice(1))) return { seq: this.seqOf(row.id) ?? 0, inserted: false };
    this.#sequence.next();
    if (!extendsRun) this.#runs.begin(row.seq, parentSeq);
    if (newest?.seq !== parentSeq) this.#newestEdits = undefined;
    this.#newest = row;
    return { seq: row.seq, inserted: true };
  }

  /** Whether this is what is stored for a message. */
  holds(seq: number, draft: MessageDraft): boolean {
    const stored = this.meta(seq);
    return stored !== null && stored.bytes === draft.bytes && this.#rows.read(seq)?.json === draft.json;
  }

  /** Other content for a message; its place stays. */
  replace(seq: number, draft: MessageDraft, now: number): void {
    const stored = this.#rows.meta(seq);
    if (stored === null) throw new Error("only a message that is there can be replaced");
    const by = { tokens: draft.tokens - stored.tokens, bytes: draft.bytes - stored.bytes };
    // Nothing hangs below the newest message: its own sums can be set right.
    const isNewest = this.newest()?.seq === seq;
    const sums = isNewest ? { path_tokens: stored.path_tokens + by.tokens, path_bytes: stored.path_bytes + by.bytes } : stored;
    const row: MessageRow = {
      ...stored,
      role: draft.message.role,
      tokens: draft.tokens,
      path_tokens: sums.path_tokens,
      bytes: draft.bytes,
      path_bytes: sums.path_bytes,
      call_ids: draft.callIds,
      continuations: draft.pieces.length - 1,
      json: draft.pieces[0] ?? "",
    };
    this.#rows.replace(row, draft.pieces.slice(1));
    if (isNewest) this.#newest = row;
    this.#change(now, [{ seq, by: isNewest ? NO_SIZE : by }], {});
  }

  /**
   * Removes messages; what hung below them hangs below the nearest that is left. When the active leaf goes,
   * its nearest surviving ancestor is active.
   */
  remove(seqs: readonly number[], now: number): void {
    const leaf = this.activeLeaf();
    const count = this.count() - seqs.length;
    const changes = seqs.map((seq) => {
      const stored = this.#rows.meta(seq);
      if (stored === null) throw new Error("only a message that is there can be removed");
      this.#rows.delete(seq);
      return { seq, by: { tokens: -stored.tokens, bytes: -stored.bytes } };
    });
    this.#newest = undefined;
    const removed = (this.newest()?.ordinal ?? 0) - count;
    this.#change(now, changes, { removed }, seqs.includes(leaf) ? this.nearest(leaf) : undefined);
  }

  /** Makes any message the active leaf. False when it is already. */
  choose(leafSeq: number, now: number): boolean {
    if (this.activeLeaf() === leafSeq) return false;
    this.#change(now, [], {}, leafSeq);
    return true;
  }

  clear(now: number): void {
    for (const store of [this.#rows, this.#runs, this.#edits]) store.clear();
    this.#newest = null;
    this.#change(now, [], { removed: 0 }, 0);
  }

  /** A change is a fact with a seq of its own. `leaf`: the one that it makes active. */
  #change(now: number, changes: readonly Change[], state: Partial<TreeRow>, leaf?: number): void {
    const at = this.#sequence.next();
    for (const { seq, by } of changes) this.#edits.record(seq, at, by);
    this.#newestEdits = undefined;
    const choice = leaf === undefined ? {} : { leaf_seq: leaf, leaf_chosen_at: at };
    this.#state.save({ ...state, ...choice, changed_seq: at, changed_at: now });
  }

  // Reading

  seqOf(id: string): number | null {
    return this.#rows.seqOf(id);
  }

  /** Null when there is no such message, or no longer. */
  meta(seq: number): MessageMetaRow | null {
    return this.#newest?.seq === seq ? this.#newest : this.#rows.meta(seq);
  }

  idOf(seq: number): string | null {
    return seq === 0 ? null : (this.meta(seq)?.id ?? null);
  }

  find(id: string): MessageRead | null {
    const seq = this.seqOf(id);
    return seq === null ? null : this.#rows.read(seq);
  }

  /** Rises with every change of the message. */
  versionOf(seq: number): number {
    return Math.max(seq, this.#edits.changedAt(seq));
  }

  scan(path: readonly Range[], order: "asc" | "desc"): Iterable<MessageRead> {
    return this.#rows.scan(path, order);
  }

  *scanMeta(path: readonly Range[]): Generator<MessageWeight> {
    for (const range of path) yield* this.#rows.scanMeta(range);
  }

  /** How many messages a path has. Reads every one of its rows once a message of the session was deleted. */
  countOn(path: readonly Range[]): number {
    return this.#rows.countOn(path, this.#state.get().removed > 0);
  }

  /** The message that so many of a path come before; null when the path has no more. */
  nthOn(path: readonly Range[], before: number): number | null {
    return this.#rows.nthOn(path, before, this.#state.get().removed > 0);
  }

  pathTo(leafSeq: number): Range[] {
    return this.#runs.pathTo(leafSeq);
  }

  /** Whether a message of these ranges was edited or deleted after this place in the log. */
  changedSince(path: readonly Range[], after: number): boolean {
    return this.#edits.changedSince(path, after);
  }

  /** What the path to a leaf adds up to. The leaf may have been deleted: then the rest of its path does. */
  totalsTo(leafSeq: number): Size {
    const stored = this.meta(leafSeq) ?? this.meta(this.nearest(leafSeq));
    if (stored === null) return NO_SIZE;
    const edits = this.#editsTo(leafSeq);
    return { tokens: stored.path_tokens + edits.tokens, bytes: stored.path_bytes + edits.bytes };
  }

  #editsTo(leafSeq: number): Size {
    if (leafSeq !== this.#newest?.seq) return this.#edits.sum(this.pathTo(leafSeq));
    this.#newestEdits ??= this.#edits.sum(this.pathTo(leafSeq));
    return this.#newestEdits;
  }

  /** The message at a place of the log or the nearest above it on its path; 0 when there is none. */
  nearest(seq: number): number {
    for (let at = seq; at > 0;) {
      const run = this.#runs.at(at);
      if (run === null) return 0;
      const found = this.#rows.lastIn({ first: run.first, last: at });
      if (found !== null) return found;
      at = run.parent;
    }
    return 0;
  }

  /** The message above, or null for a root. */
  parentOf(seq: number): { readonly seq: number; readonly id: string } | null {
    const run = this.#runs.at(seq);
    if (run === null) return null;
    const parent = this.#rows.lastIn({ first: run.first, last: seq - 1 }) ?? this.nearest(run.parent);
    const row = parent === 0 ? null : this.meta(parent);
    return row === null ? null : { seq: row.seq, id: row.id };
  }

  /** The messages right below one (0: the roots), oldest first. */
  childrenOf(parentSeq: number): number[] {
    const found: number[] = [];
    // Places that stand for the parent: itself, and what was deleted between it and its children.
    const stretches = parentSeq === 0 ? this.#begunBelow({ first: 0, last: 0 }) : [{ first: parentSeq + 1, hidden: parentSeq }];
    for (let at = stretches.pop(); at !== undefined; at = stretches.pop()) {
      const end = this.#runs.endOf(at.hidden);
      const child = this.#rows.firstIn({ first: at.first, last: end });
      if (child !== null) found.push(child);
      stretches.push(...this.#begunBelow({ first: at.hidden, last: child === null ? end : child - 1 }));
    }
    return found.toSorted((a, b) => a - b);
  }

  #begunBelow(range: Range): { readonly first: number; readonly hidden: number }[] {
    return this.#runs.begunBelow(range).map((first) => ({ first, hidden: first }));
  }

  /** For each of these places, in rising order: of how many leaves it is on the path. */
  leavesBelow(seqs: readonly number[], leaves: readonly number[]): number[] {
    return leavesBelow(this.#runs.all(), leaves, seqs);
  }

  /** Every message that has none below it, oldest first. */
  leaves(): number[] {
    return leavesOf(this.#runs.ends(), (seq) => this.nearest(seq));
  }
}

/**
 * One conversation: its messages, settings, usage; its context and its jobs are in `rpc/`. The object owns its SQLite database and is its only writer; each method is one verb,
 * its writes are one turn without an await, and what it has acknowledged survives its death. It never
 * writes to D1: its log is told to the catalog by the alarm.
 */
import { problem } from "@sessionplane/shared/problem";
import { err, ok } from "@sessionplane/shared/result";
import type { SessionRpc } from "@sessionplane/shared/rpc/session-rpc";
import { beginWith } from "./context/write-block.ts";
import { eraseSession, readErasure } from "./erasure.ts";
import { closeBack } from "./events/sockets.ts";
import type { FaultPoint } from "./fault-points.ts";
import { append } from "./messages/append.ts";
import { chooseLeaf, listBranches, listLeaves } from "./messages/branches.ts";
import { patchMessage, putMessage } from "./messages/edit.ts";
import { inlinePage, readAttachment, readMessage, readMessages, streamMessages } from "./messages/read.ts";
import { clearMessages, deleteMessages } from "./messages/remove.ts";
import { buildIndex, searchMessages, showHits } from "./messages/search.ts";
import { readStats } from "./messages/stats.ts";
import { JobMethods } from "./rpc/job-methods.ts";
import { pendingFacts } from "./log/pending.ts";
import type { Input } from "./rpc/session-object.ts";
import { describe, endSession, newRow, patchSession } from "./settings.ts";
import { exportSession } from "./transfer/export.ts";
import { Import } from "./transfer/import.ts";
import { explainSession, readCost } from "./usage/cost.ts";
import { adjustEvent, explainEvent, listUsageEvents, recordUsage } from "./usage/record.ts";
import { toSessionUsage } from "./usage/ledger.ts";

const ALREADY_THERE = problem("already_exists", "The session is there already.");

export class SessionDO extends JobMethods implements SessionRpc {
  readonly #import = new Import(this.ctx.storage, this.turns.bucket);

  override async alarm(): Promise<void> {
    await this.turns.drain();
  }

  /** A WebSocket, asked for by `api`. What it needs to know is in the query. */
  override async fetch(request: Request): Promise<Response> {
    const { store, sockets } = this.turns;
    return store === null ? new Response(null, { status: 404 }) : sockets.accept(store, request);
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    closeBack(socket, code);
  }

  async open(input: Input<"open">) {
    const store = this.turns.open(
      () => newRow(input),
      (made) => beginWith(made, input.blocks ?? [], input.created_at),
    );
    if (store.row.tenant_id !== input.tenant_id || store.row.session_id !== input.session_id)
      throw new Error("the object is another session's");
    return this.describe(input.rules);
  }

  async streamEvents({ after }: Input<"streamEvents">) {
    const settle = () => this.ctx.storage.sync();
    return this.turns.read((store) => ok(this.turns.listeners.stream(store, after ?? store.sequence.head, settle)));
  }

  async exportSession(query: Input<"exportSession">) {
    return this.turns.read((store) => exportSession(store, query, this.turns.bucket));
  }

  async stageImport(input: Input<"stageImport">) {
    return this.turns.exists ? err(ALREADY_THERE) : this.#import.stage(input);
  }

  async finishImport(input: Input<"finishImport">) {
    if (this.turns.exists) return err(ALREADY_THERE);
    const made = this.#import.finish(input, this.turns.options);
    if (!made.ok) return made;
    const { store, ...counts } = made.value;
    this.turns.adopt(store);
    return ok({ session: describe(store, input.rules), ...counts });
  }

  async abandonImport() {
    if (!this.turns.exists) await this.#import.abandon();
  }

  async describe(rules: Input<"describe">) {
    return this.turns.read((store) => ok(describe(store, rules)));
  }

  async patch(input: Input<"patch">) {
    return this.turns.write((store, now) => patchSession(store, input, now));
  }

  async end(input: Input<"end">) {
    return this.turns.write((store, now) => endSession(store, input, now));
  }

  async erase({ if_match: ifMatch }: Input<"erase">) {
    return this.turns.writeKept((store, now) => eraseSession(store, ifMatch, now));
  }

  async readErasure() {
    return this.turns.readKept(readErasure);
  }

  async append(input: Input<"append">) {
    return this.turns.writeMessages(input.messages, (store, uploads, now) => append(store, input, uploads, now));
  }

  async readHistory(query: Input<"readHistory">) {
    const page = this.turns.read((store) => readMessages(store, query));
    if (!page.ok || query.attachments !== "inline" || this.turns.store === null) return page;
    return ok(await inlinePage(this.turns.store, page.value, this.turns.bucket));
  }

  async streamHistory(query: Input<"streamHistory">) {
    return this.turns.read((store) => streamMessages(store, query, this.turns.bucket));
  }

  async getMessage(query: Input<"getMessage">) {
    const message = this.turns.read((store) => readMessage(store, query));
    if (!message.ok || query.attachments !== "inline" || this.turns.store === null) return message;
    const [inlined = message.value] = await this.turns.bucket.inline(this.turns.store, [message.value], (one) => one.meta.seq);
    return ok(inlined);
  }

  async putMessage(input: Input<"putMessage">) {
    return this.turns.writeMessages([input.message], (store, uploads, now) => putMessage(store, input, uploads, now));
  }

  async patchMessage(input: Input<"patchMessage">) {
    const parts = [{ type: "result", ...input.patch }];
    return this.turns.writeMessages([{ parts }], (store, uploads, now) => patchMessage(store, input, uploads, now));
  }

  async deleteMessages(input: Input<"deleteMessages">) {
    return this.turns.write((store, now) => deleteMessages(store, input, now));
  }

  async clearMessages(input: Input<"clearMessages">) {
    return this.turns.write((store, now) => clearMessages(store, input, now));
  }

  async chooseLeaf(input: Input<"chooseLeaf">) {
    return this.turns.write((store, now) => chooseLeaf(store, input, now));
  }

  async listBranches(query: Input<"listBranches">) {
    return this.turns.read((store) => listBranches(store, query));
  }

  async listLeaves(query: Input<"listLeaves">) {
    return this.turns.read((store) => listLeaves(store, query));
  }

  async getAttachment(query: Input<"getAttachment">) {
    return this.turns.read((store) => readAttachment(store, query));
  }

  async readStats(query: Input<"readStats">) {
    return this.turns.read((store) => readStats(store, query));
  }

  async search(query: Input<"search">) {
    const refused = this.turns.store === null ? this.turns.missing() : await buildIndex(this.turns.store);
    return refused === null ? this.turns.read((store) => searchMessages(store, query)) : err(refused);
  }

  async showHits(found: Input<"showHits">) {
    return this.turns.read((store) => showHits(store, found));
  }

  async recordUsage(input: Input<"recordUsage">) {
    return this.turns.writeKept((store, now) => recordUsage(store, input, now));
  }

  async readUsage() {
    return this.turns.readKept((store) => ok({ usage: toSessionUsage(store.ledger.totals()), as_of: new Date().toISOString() }));
  }

  async adjustUsage(input: Input<"adjustUsage">) {
    return this.turns.writeKept((store, now) => adjustEvent(store, input, now));
  }

  async explainUsageEvent(id: string) {
    return this.turns.readKept((store) => explainEvent(store, id));
  }

  async listUsageEvents(query: Input<"listUsageEvents">) {
    return this.turns.readKept((store) => ok(listUsageEvents(store, query)));
  }

  async readCost() {
    return this.turns.readKept((store) => ok(readCost(store)));
  }

  async explainUsage() {
    return this.turns.readKept(explainSession);
  }

  async pendingFacts({ after }: Input<"pendingFacts">) {
    return this.turns.readKept((store) => ok(pendingFacts(store, after)));
  }

  async projected(afterSeq: number, toSeq: number) {
    this.turns.confirm(afterSeq, toSeq);
  }

  async confirmedSeq() {
    return this.turns.readKept((store) => ok(store.row.projected_seq));
  }

  async repair() {
    return this.turns.repair();
  }

  /** For tests: the object dies at this point, once. Refused unless `FAULT_POINTS` is on. */
  async armFault(point: FaultPoint): Promise<void> {
    this.turns.faults.arm(point);
  }
}

/**
 * One conversation. The object owns its SQLite database and is its only writer; each method is one verb,
 * its writes are one turn without an await, and what it has acknowledged survives its death. It never
 * writes to D1: its log is told to the catalog by the alarm.
 */
import { DurableObject } from "cloudflare:workers";
import type { JobId } from "@sessionplane/shared/ids";
import { NOT_FOUND, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { JobRefusal } from "@sessionplane/shared/rpc/job-rpc";
import type { SessionRpc } from "@sessionplane/shared/rpc/session-rpc";
import { SessionContext } from "./context/session-context.ts";
import { beginWith } from "./context/write-block.ts";
import type { SessionEnv } from "./env.ts";
import { closeBack } from "./events/sockets.ts";
import type { FaultPoint } from "./fault-points.ts";
import type { JobRow } from "./jobs/job-store.ts";
import { cancelJob, getJob, listOverlays, requestCompaction, showJob } from "./jobs/requests.ts";
import * as run from "./jobs/run.ts";
import { append } from "./messages/append.ts";
import { chooseLeaf, listBranches, listLeaves } from "./messages/branches.ts";
import { patchMessage, putMessage } from "./messages/edit.ts";
import { inlinePage, readAttachment, readMessage, readMessages, streamMessages } from "./messages/read.ts";
import { clearMessages, deleteMessages } from "./messages/remove.ts";
import { buildIndex, searchMessages, showHits } from "./messages/search.ts";
import { readStats } from "./messages/stats.ts";
import type { SessionStore } from "./session-store.ts";
import { describe, endSession, newRow, patchSession } from "./settings.ts";
import { exportSession } from "./transfer/export.ts";
import { Import } from "./transfer/import.ts";
import { listUsageEvents, recordUsage } from "./usage/record.ts";
import { toSessionUsage } from "./usage/ledger.ts";
import { seqPage } from "./seq-page.ts";
import { NO_JOB, Turns } from "./turns.ts";

const ALREADY_THERE = problem("already_exists", "The session is there already.");

type Parameters1<M extends keyof SessionRpc> = Parameters<SessionRpc[M]>[0];

/** A job as compactors see it. */
const shown = (done: Result<{ readonly store: SessionStore; readonly value: JobRow }, JobRefusal>) =>
  done.ok ? ok(showJob(done.value.store, done.value.value)) : done;

export class SessionDO extends DurableObject<SessionEnv> implements SessionRpc {
  readonly #turns = new Turns(this.ctx, this.env);
  readonly #import = new Import(this.ctx.storage, this.#turns.bucket);
  readonly #context = new SessionContext(this.#turns, this.env.CONTENT);

  override async alarm(): Promise<void> {
    await this.#turns.drain();
  }

  /** A WebSocket, asked for by `api`. What it needs to know is in the query. */
  override async fetch(request: Request): Promise<Response> {
    const { store, sockets } = this.#turns;
    return store === null ? new Response(null, { status: 404 }) : sockets.accept(store, request);
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    closeBack(socket, code);
  }

  async open(input: Parameters1<"open">) {
    const store = this.#turns.open(
      () => newRow(input),
      (made) => beginWith(made, input.blocks ?? [], input.created_at),
    );
    if (store.row.tenant_id !== input.tenant_id || store.row.session_id !== input.session_id)
      throw new Error("the object is another session's");
    return ok(describe(store, input.rules));
  }

  async streamEvents({ after }: Parameters1<"streamEvents">) {
    const settle = () => this.ctx.storage.sync();
    return this.#turns.read((store) => ok(this.#turns.listeners.stream(store, after ?? store.sequence.head, settle)));
  }

  async exportSession(query: Parameters1<"exportSession">) {
    return this.#turns.read((store) => exportSession(store, query, this.#turns.bucket));
  }

  async stageImport(input: Parameters1<"stageImport">) {
    return this.#turns.store === null ? this.#import.stage(input) : err(ALREADY_THERE);
  }

  async finishImport(input: Parameters1<"finishImport">) {
    if (this.#turns.store !== null) return err(ALREADY_THERE);
    const made = this.#import.finish(input, this.#turns.options);
    if (!made.ok) return made;
    const { store, ...counts } = made.value;
    this.#turns.adopt(store);
    return ok({ session: describe(store, input.rules), ...counts });
  }

  async abandonImport() {
    if (this.#turns.store === null) await this.#import.abandon();
  }

  async describe(rules: Parameters1<"describe">) {
    return this.#turns.read((store) => ok(describe(store, rules)));
  }

  async patch(input: Parameters1<"patch">) {
    return this.#turns.write((store, now) => patchSession(store, input, now));
  }

  async end(input: Parameters1<"end">) {
    return this.#turns.write((store, now) => endSession(store, input, now));
  }

  async append(input: Parameters1<"append">) {
    return this.#turns.writeMessages(input.messages, (store, uploads, now) => append(store, input, uploads, now));
  }

  async readHistory(query: Parameters1<"readHistory">) {
    const page = this.#turns.read((store) => readMessages(store, query));
    if (!page.ok || query.attachments !== "inline" || this.#turns.store === null) return page;
    return ok(await inlinePage(this.#turns.store, page.value, this.#turns.bucket));
  }

  async streamHistory(query: Parameters1<"streamHistory">) {
    return this.#turns.read((store) => streamMessages(store, query, this.#turns.bucket));
  }

  async getMessage(query: Parameters1<"getMessage">) {
    const message = this.#turns.read((store) => readMessage(store, query));
    if (!message.ok || query.attachments !== "inline" || this.#turns.store === null) return message;
    const [inlined = message.value] = await this.#turns.bucket.inline(this.#turns.store, [message.value], (one) => one.meta.seq);
    return ok(inlined);
  }

  async putMessage(input: Parameters1<"putMessage">) {
    return this.#turns.writeMessages([input.message], (store, uploads, now) => putMessage(store, input, uploads, now));
  }

  async patchMessage(input: Parameters1<"patchMessage">) {
    const parts = [{ type: "result", ...input.patch }];
    return this.#turns.writeMessages([{ parts }], (store, uploads, now) => patchMessage(store, input, uploads, now));
  }

  async deleteMessages(input: Parameters1<"deleteMessages">) {
    return this.#turns.write((store, now) => deleteMessages(store, input, now));
  }

  async clearMessages(input: Parameters1<"clearMessages">) {
    return this.#turns.write((store, now) => clearMessages(store, input, now));
  }

  async chooseLeaf(input: Parameters1<"chooseLeaf">) {
    return this.#turns.write((store, now) => chooseLeaf(store, input, now));
  }

  async listBranches(query: Parameters1<"listBranches">) {
    return this.#turns.read((store) => listBranches(store, query));
  }

  async listLeaves(query: Parameters1<"listLeaves">) {
    return this.#turns.read((store) => listLeaves(store, query));
  }

  async getAttachment(query: Parameters1<"getAttachment">) {
    return this.#turns.read((store) => readAttachment(store, query));
  }

  async readStats(query: Parameters1<"readStats">) {
    return this.#turns.read((store) => readStats(store, query));
  }

  async search(query: Parameters1<"search">) {
    const refused = this.#turns.store === null ? NOT_FOUND : await buildIndex(this.#turns.store);
    return refused === null ? this.#turns.read((store) => searchMessages(store, query)) : err(refused);
  }

  async showHits(found: Parameters1<"showHits">) {
    return this.#turns.read((store) => showHits(store, found));
  }

  async listBlocks() {
    return this.#context.listBlocks();
  }

  async getBlock(query: Parameters1<"getBlock">) {
    return this.#context.getBlock(query);
  }

  async putBlock(input: Parameters1<"putBlock">) {
    return this.#context.putBlock(input);
  }

  async patchBlock(input: Parameters1<"patchBlock">) {
    return this.#context.patchBlock(input);
  }

  async appendToBlock(input: Parameters1<"appendToBlock">) {
    return this.#context.appendToBlock(input);
  }

  async deleteBlock(input: Parameters1<"deleteBlock">) {
    return this.#context.deleteBlock(input);
  }

  async listEntries(query: Parameters1<"listEntries">) {
    return this.#context.listEntries(query);
  }

  async getEntry(query: Parameters1<"getEntry">) {
    return this.#context.getEntry(query);
  }

  async putEntry(input: Parameters1<"putEntry">) {
    return this.#context.putEntry(input);
  }

  async deleteEntry(input: Parameters1<"deleteEntry">) {
    return this.#context.deleteEntry(input);
  }

  async readPrompt() {
    return this.#context.readPrompt();
  }

  async refreshPrompt() {
    return this.#context.refreshPrompt();
  }

  async listTools() {
    return this.#context.listTools();
  }

  async runTool(input: Parameters1<"runTool">) {
    return this.#context.runTool(input);
  }

  async listLoadedSkills() {
    return this.#context.listLoadedSkills();
  }

  async recordUsage(input: Parameters1<"recordUsage">) {
    return this.#turns.write((store, now) => recordUsage(store, input, now));
  }

  async readUsage() {
    return this.#turns.read((store) => ok({ usage: toSessionUsage(store.ledger.totals()), as_of: new Date().toISOString() }));
  }

  async listUsageEvents(query: Parameters1<"listUsageEvents">) {
    return this.#turns.read((store) => ok(listUsageEvents(store, query)));
  }

  async requestCompaction(input: Parameters1<"requestCompaction">) {
    return this.#turns.write((store, now) => requestCompaction(store, input, now));
  }

  async listOverlays(query: Parameters1<"listOverlays">) {
    return this.#turns.read((store) => ok(listOverlays(store, query)));
  }

  async listJobs({ limit, before_seq: before }: Parameters1<"listJobs">) {
    return this.#turns.read((store) => ok(seqPage(store.jobs.list(limit, before), limit, (job) => showJob(store, job))));
  }

  async getJob(id: string) {
    return this.#turns.read((store) => getJob(store, id));
  }

  async cancelJob(input: Parameters1<"cancelJob">) {
    return this.#turns.write((store, now) => cancelJob(store, input, now));
  }

  async claimJob(id: JobId) {
    const claimed = this.#turns.job("claim:written", (store, now) => run.claim(store, id, now));
    return claimed.ok ? ok(claimed.value.value) : claimed;
  }

  async readJobRange(id: JobId, fence: number, afterSeq: number) {
    const { store } = this.#turns;
    return store === null ? err(NO_JOB) : run.readRange(store, id, fence, afterSeq);
  }

  async commitJob(id: JobId, fence: number, commit: Parameters<SessionRpc["commitJob"]>[2]) {
    this.#turns.faults.hit("commit:before");
    return shown(this.#turns.job("commit:written", (store, now) => run.commit(store, id, fence, commit, now)));
  }

  async failJob(id: JobId, fence: number, failure: Parameters<SessionRpc["failJob"]>[2]) {
    return shown(this.#turns.job("fail:written", (store, now) => run.fail(store, id, fence, failure, now)));
  }

  async deadLetterJob(id: JobId) {
    return shown(this.#turns.job(null, (store, now) => run.deadLetter(store, id, now)));
  }

  async projected(afterSeq: number, toSeq: number) {
    const { store, outbox } = this.#turns;
    if (store !== null) outbox.confirm(store, afterSeq, toSeq, Date.now());
  }

  async repair() {
    return this.#turns.read((store) => {
      this.#turns.outbox.restart(store, Date.now());
      return ok(store.sequence.head);
    });
  }

  /** For tests: the object dies at this point, once. Refused unless `FAULT_POINTS` is on. */
  async armFault(point: FaultPoint): Promise<void> {
    this.#turns.faults.arm(point);
  }
}

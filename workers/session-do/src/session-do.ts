/**
 * One conversation. The object owns its SQLite database and is its only writer; each method is one verb,
 * its writes are one turn without an await, and what it has acknowledged survives its death. It never
 * writes to D1: its log is told to the catalog by the alarm.
 */
import { DurableObject } from "cloudflare:workers";
import type { JobId } from "@sessionplane/shared/ids";
import type { Message } from "@sessionplane/shared/message";
import { NOT_FOUND, type Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { JobRefusal, SessionRpc } from "@sessionplane/shared/rpc/session-rpc";
import { NO_UPLOADS, type Uploads } from "@sessionplane/engine/messages/intake";
import { isMigrated } from "@sessionplane/engine/storage/sqlite/migrate";
import { toOverlay } from "@sessionplane/engine/storage/sqlite/overlays";
import type { SessionEnv } from "./env.ts";
import { type FaultPoint, FaultPoints } from "./fault-points.ts";
import type { JobRow } from "./jobs/job-store.ts";
import { cancelJob, getJob, requestCompaction, showJob } from "./jobs/requests.ts";
import * as run from "./jobs/run.ts";
import { Outbox } from "./log/drain.ts";
import { append } from "./messages/append.ts";
import { chooseLeaf, listBranches, listLeaves } from "./messages/branches.ts";
import { patchMessage, putMessage } from "./messages/edit.ts";
import { MediaBucket, mayHoldLarge } from "./messages/media-bucket.ts";
import { inlinePage, readAttachment, readMessage, readMessages, streamMessages } from "./messages/read.ts";
import { clearMessages, deleteMessages } from "./messages/remove.ts";
import { buildIndex, searchMessages, showHits } from "./messages/search.ts";
import { readStats } from "./messages/stats.ts";
import { SessionStore, type StoreOptions } from "./session-store.ts";
import { describe, endSession, newRow, patchSession } from "./settings.ts";
import { recordUsage } from "./usage/record.ts";
import { toSessionUsage, toUsageEvent } from "./usage/ledger.ts";
import { seqPage } from "./seq-page.ts";

const NO_JOB: JobRefusal = { code: "not_found", detail: "the session was never opened" };

type Parameters1<M extends keyof SessionRpc> = Parameters<SessionRpc[M]>[0];

export class SessionDO extends DurableObject<SessionEnv> implements SessionRpc {
  readonly #faults = new FaultPoints(this.env.FAULT_POINTS === "on", (point) => this.ctx.abort(point));
  readonly #options: StoreOptions = { faults: this.#faults, maxBytes: Number(this.env.MAX_DATABASE_BYTES) };
  readonly #bucket = new MediaBucket(this.env.CONTENT);
  #outbox: Outbox;
  /** Null until the session is opened: an object that is only asked about stores nothing. */
  #store: SessionStore | null;

  constructor(ctx: DurableObjectState, env: SessionEnv) {
    super(ctx, env);
    this.#store = isMigrated(ctx.storage) ? SessionStore.load(ctx.storage, this.#options) : null;
    this.#outbox = new Outbox(ctx.storage, env, this.#bucket, null);
    void ctx.blockConcurrencyWhile(async () => {
      this.#outbox = new Outbox(ctx.storage, env, this.#bucket, await ctx.storage.getAlarm());
      if (this.#store !== null) this.#outbox.arm(this.#store, Date.now());
    });
  }

  override async alarm(): Promise<void> {
    if (this.#store !== null) await this.#outbox.drain(this.#store, Date.now());
  }

  #read<T>(work: (store: SessionStore) => Result<T, Problem>): Result<T, Problem> {
    return this.#store === null ? err(NOT_FOUND) : work(this.#store);
  }

  /** A write, and the alarm that tells of it, in one turn. */
  #write<T>(work: (store: SessionStore, now: number) => Result<T, Problem>): Result<T, Problem> {
    const store = this.#store;
    if (store === null) return err(NOT_FOUND);
    const now = Date.now();
    const result = work(store, now);
    this.#faults.hit("append:written");
    this.#outbox.arm(store, now);
    this.#faults.hit("append:armed");
    return result;
  }

  /** The same for messages: what is large in them goes to R2 first. Most hold nothing of that kind. */
  #writeMessages<T>(
    messages: readonly Pick<Message, "parts">[],
    work: (store: SessionStore, uploads: Uploads, now: number) => Result<T, Problem>,
  ): Result<T, Problem> | Promise<Result<T, Problem>> {
    const store = this.#store;
    // What will be refused anyway uploads nothing.
    if (store === null || store.row.status === "ended" || !mayHoldLarge(messages))
      return this.#write((open, now) => work(open, NO_UPLOADS, now));
    return this.#uploadAndWrite(store, messages, work);
  }

  async #uploadAndWrite<T>(
    store: SessionStore,
    messages: readonly Pick<Message, "parts">[],
    work: (store: SessionStore, uploads: Uploads, now: number) => Result<T, Problem>,
  ): Promise<Result<T, Problem>> {
    const uploads = await this.#bucket.upload(store, messages, Date.now());
    if (!uploads.ok) return this.#write(() => uploads);
    return this.#write((open, now) => {
      const result = work(open, uploads.value, now);
      this.#bucket.release(open, uploads.value, now);
      return result;
    });
  }

  async #job(point: FaultPoint | null, work: (store: SessionStore, now: number) => Result<JobRow, JobRefusal>) {
    const store = this.#store;
    if (store === null) return err(NO_JOB);
    const now = Date.now();
    const result = store.atomically(() => work(store, now));
    if (point !== null) this.#faults.hit(point);
    this.#outbox.arm(store, now);
    return result.ok ? ok(showJob(store, result.value)) : result;
  }

  #create(input: Parameters1<"open">): SessionStore {
    const { storage } = this.ctx;
    return storage.transactionSync(() => SessionStore.create(storage, this.#options, newRow(input)));
  }

  async open(input: Parameters1<"open">) {
    this.#store ??= this.#create(input);
    const { row } = this.#store;
    if (row.tenant_id !== input.tenant_id || row.session_id !== input.session_id)
      throw new Error("the object is another session's");
    this.#outbox.arm(this.#store, Date.now());
    return ok(describe(this.#store, input.rules));
  }

  async describe(rules: Parameters1<"describe">) {
    return this.#read((store) => ok(describe(store, rules)));
  }

  async patch(input: Parameters1<"patch">) {
    return this.#write((store, now) => patchSession(store, input, now));
  }

  async end(input: Parameters1<"end">) {
    return this.#write((store, now) => endSession(store, input, now));
  }

  async append(input: Parameters1<"append">) {
    return this.#writeMessages(input.messages, (store, uploads, now) => append(store, input, uploads, now));
  }

  async readHistory(query: Parameters1<"readHistory">) {
    const page = this.#read((store) => readMessages(store, query));
    if (!page.ok || query.attachments !== "inline" || this.#store === null) return page;
    return ok(await inlinePage(this.#store, page.value, this.#bucket));
  }

  async streamHistory(query: Parameters1<"streamHistory">) {
    return this.#read((store) => streamMessages(store, query, this.#bucket));
  }

  async getMessage(query: Parameters1<"getMessage">) {
    const message = this.#read((store) => readMessage(store, query));
    if (!message.ok || query.attachments !== "inline" || this.#store === null) return message;
    const [inlined = message.value] = await this.#bucket.inline(this.#store, [message.value], (one) => one.meta.seq);
    return ok(inlined);
  }

  async putMessage(input: Parameters1<"putMessage">) {
    return this.#writeMessages([input.message], (store, uploads, now) => putMessage(store, input, uploads, now));
  }

  async patchMessage(input: Parameters1<"patchMessage">) {
    const parts = [{ type: "result", ...input.patch }];
    return this.#writeMessages([{ parts }], (store, uploads, now) => patchMessage(store, input, uploads, now));
  }

  async deleteMessages(input: Parameters1<"deleteMessages">) {
    return this.#write((store, now) => deleteMessages(store, input, now));
  }

  async clearMessages(input: Parameters1<"clearMessages">) {
    return this.#write((store, now) => clearMessages(store, input, now));
  }

  async chooseLeaf(input: Parameters1<"chooseLeaf">) {
    return this.#write((store, now) => chooseLeaf(store, input, now));
  }

  async listBranches(query: Parameters1<"listBranches">) {
    return this.#read((store) => listBranches(store, query));
  }

  async listLeaves(query: Parameters1<"listLeaves">) {
    return this.#read((store) => listLeaves(store, query));
  }

  async getAttachment(query: Parameters1<"getAttachment">) {
    return this.#read((store) => readAttachment(store, query));
  }

  async readStats(query: Parameters1<"readStats">) {
    return this.#read((store) => readStats(store, query));
  }

  async search(query: Parameters1<"search">) {
    const refused = this.#store === null ? NOT_FOUND : await buildIndex(this.#store);
    return refused === null ? this.#read((store) => searchMessages(store, query)) : err(refused);
  }

  async showHits(found: Parameters1<"showHits">) {
    return this.#read((store) => showHits(store, found));
  }

  async recordUsage(input: Parameters1<"recordUsage">) {
    return this.#write((store, now) => recordUsage(store, input, now));
  }

  async readUsage() {
    return this.#read((store) => ok({ usage: toSessionUsage(store.ledger.totals()), as_of: new Date().toISOString() }));
  }

  async listUsageEvents({ limit, before_seq: before }: Parameters1<"listUsageEvents">) {
    return this.#read((store) =>
      ok(seqPage(store.ledger.list(limit, before), limit, (row) => toUsageEvent(store.row.session_id, row))),
    );
  }

  async requestCompaction(input: Parameters1<"requestCompaction">) {
    return this.#write((store, now) => requestCompaction(store, input, now));
  }

  async listOverlays({ limit, before_seq: before = Number.MAX_SAFE_INTEGER }: Parameters1<"listOverlays">) {
    return this.#read((store) => {
      const newestFirst = store.overlays.all().filter((overlay) => overlay.seq < before);
      return ok(seqPage(newestFirst.toReversed(), limit, toOverlay));
    });
  }

  async listJobs({ limit, before_seq: before }: Parameters1<"listJobs">) {
    return this.#read((store) => ok(seqPage(store.jobs.list(limit, before), limit, (job) => showJob(store, job))));
  }

  async getJob(id: string) {
    return this.#read((store) => getJob(store, id));
  }

  async cancelJob(input: Parameters1<"cancelJob">) {
    return this.#write((store, now) => cancelJob(store, input, now));
  }

  async claimJob(id: JobId) {
    const store = this.#store;
    if (store === null) return err(NO_JOB);
    const now = Date.now();
    const claimed = run.claim(store, id, now);
    this.#faults.hit("claim:written");
    this.#outbox.arm(store, now);
    return claimed;
  }

  async readJobRange(id: JobId, fence: number, afterSeq: number) {
    return this.#store === null ? err(NO_JOB) : run.readRange(this.#store, id, fence, afterSeq);
  }

  async commitJob(id: JobId, fence: number, commit: Parameters<SessionRpc["commitJob"]>[2]) {
    this.#faults.hit("commit:before");
    return this.#job("commit:written", (store, now) => run.commit(store, id, fence, commit, now));
  }

  async failJob(id: JobId, fence: number, failure: Parameters<SessionRpc["failJob"]>[2]) {
    return this.#job("fail:written", (store, now) => run.fail(store, id, fence, failure, now));
  }

  async deadLetterJob(id: JobId) {
    return this.#job(null, (store, now) => run.deadLetter(store, id, now));
  }

  async projected(afterSeq: number, toSeq: number) {
    if (this.#store !== null) this.#outbox.confirm(this.#store, afterSeq, toSeq, Date.now());
  }

  async repair() {
    return this.#read((store) => {
      this.#outbox.restart(store, Date.now());
      return ok(store.sequence.head);
    });
  }

  /** For tests: the object dies at this point, once. Refused unless `FAULT_POINTS` is on. */
  async armFault(point: FaultPoint): Promise<void> {
    this.#faults.arm(point);
  }
}

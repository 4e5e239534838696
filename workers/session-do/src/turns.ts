/**
 * What an awake object holds, and how one turn of it goes: a read, or a write with the alarm and the
 * listeners that tell of it. Everything in memory may be dropped by eviction.
 */
import type { Message } from "@sessionplane/shared/message";
import { NOT_FOUND, type Problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { JobRefusal } from "@sessionplane/shared/rpc/job-rpc";
import { NO_UPLOADS, type Uploads } from "@sessionplane/engine/messages/intake";
import { isMigrated } from "@sessionplane/engine/storage/sqlite/migrate";
import type { SessionEnv } from "./env.ts";
import { erasedProblem, settleErasure } from "./erasure.ts";
import { Listeners } from "./events/listeners.ts";
import { Sockets } from "./events/sockets.ts";
import { type FaultPoint, FaultPoints } from "./fault-points.ts";
import { Outbox } from "./log/drain.ts";
import { MediaBucket, mayHoldLarge } from "./messages/media-bucket.ts";
import type { SessionRow } from "./session-row.ts";
import { SessionStore, type StoreOptions } from "./session-store.ts";

export const NO_JOB: JobRefusal = { code: "not_found", detail: "the session was never opened" };

export class Turns {
  readonly faults: FaultPoints;
  readonly bucket: MediaBucket;
  readonly listeners = new Listeners();
  readonly sockets: Sockets;
  readonly options: StoreOptions;
  readonly #storage: DurableObjectStorage;
  #outbox: Outbox;
  #store: SessionStore | null;

  constructor(ctx: DurableObjectState, env: SessionEnv) {
    this.#storage = ctx.storage;
    this.faults = new FaultPoints(env.FAULT_POINTS === "on", (point) => ctx.abort(point));
    this.options = { faults: this.faults, maxBytes: Number(env.MAX_DATABASE_BYTES) };
    this.bucket = new MediaBucket(env.CONTENT, this.faults);
    this.sockets = new Sockets(ctx);
    this.#store = isMigrated(ctx.storage) ? SessionStore.load(ctx.storage, this.options) : null;
    this.#outbox = new Outbox(ctx.storage, env, this.bucket, null);
    void ctx.blockConcurrencyWhile(async () => {
      this.#outbox = new Outbox(ctx.storage, env, this.bucket, await ctx.storage.getAlarm());
      if (this.#store !== null) this.#outbox.arm(this.#store, Date.now());
    });
  }

  /** Whether a session is here, or was: an object that is only asked about stores nothing. */
  get exists(): boolean {
    return this.#store !== null;
  }

  /** Null until the session is opened, and once it is erased. */
  get store(): SessionStore | null {
    return this.#store?.row.status === "erased" ? null : this.#store;
  }

  /** Why there is no session. */
  missing(): Problem {
    return (this.#store === null ? null : erasedProblem(this.#store)) ?? NOT_FOUND;
  }

  /** The session, made when it is not there, with what it begins with. */
  open(row: () => SessionRow, begin: (store: SessionStore) => void): SessionStore {
    this.#store ??= this.#storage.transactionSync(() => {
      const store = SessionStore.create(this.#storage, this.options, row());
      begin(store);
      return store;
    });
    this.#outbox.arm(this.#store, Date.now());
    return this.#store;
  }

  /** A session that was made of an import. */
  adopt(store: SessionStore): void {
    this.#store = store;
    this.#outbox.arm(store, Date.now());
  }

  async drain(): Promise<void> {
    if (this.#store === null) return;
    await this.#outbox.drain(this.#store, Date.now());
    settleErasure(this.#store, Date.now());
    this.#tellListeners(this.#store);
  }

  /** The catalog has `(after, to]`. */
  confirm(after: number, to: number): void {
    if (this.#store === null) return;
    this.#outbox.confirm(this.#store, after, to, Date.now());
    settleErasure(this.#store, Date.now());
  }

  /** Everything is told again. */
  repair(): Result<number, Problem> {
    if (this.#store === null) return err(NOT_FOUND);
    this.#outbox.restart(this.#store, Date.now());
    return ok(this.#store.sequence.head);
  }

  #tellListeners(store: SessionStore): void {
    this.listeners.wake();
    this.sockets.tellAll(store);
  }

  #written(store: SessionStore, now: number): void {
    this.#outbox.arm(store, now);
    this.#tellListeners(store);
  }

  read<T>(work: (store: SessionStore) => Result<T, Problem>): Result<T, Problem> {
    return this.store === null ? err(this.missing()) : work(this.store);
  }

  write<T>(work: (store: SessionStore, now: number) => Result<T, Problem>): Result<T, Problem> {
    return this.store === null ? err(this.missing()) : this.writeKept(work);
  }

  /** A read of what outlives an erasure: the ledger, the receipt. */
  readKept<T>(work: (store: SessionStore) => Result<T, Problem>): Result<T, Problem> {
    return this.#store === null ? err(NOT_FOUND) : work(this.#store);
  }

  /** A write of it. */
  writeKept<T>(work: (store: SessionStore, now: number) => Result<T, Problem>): Result<T, Problem> {
    const store = this.#store;
    if (store === null) return err(NOT_FOUND);
    const now = Date.now();
    const result = work(store, now);
    this.faults.hit("append:written");
    this.#written(store, now);
    this.faults.hit("append:armed");
    return result;
  }

  /** The same for messages: what is large in them goes to R2 first. Most hold nothing of that kind. */
  writeMessages<T>(
    messages: readonly Pick<Message, "parts">[],
    work: (store: SessionStore, uploads: Uploads, now: number) => Result<T, Problem>,
  ): Result<T, Problem> | Promise<Result<T, Problem>> {
    const { store } = this;
    // What will be refused anyway uploads nothing.
    if (store === null || store.row.status === "ended" || !mayHoldLarge(messages))
      return this.write((open, now) => work(open, NO_UPLOADS, now));
    return this.#uploadAndWrite(store, messages, work);
  }

  async #uploadAndWrite<T>(
    store: SessionStore,
    messages: readonly Pick<Message, "parts">[],
    work: (store: SessionStore, uploads: Uploads, now: number) => Result<T, Problem>,
  ): Promise<Result<T, Problem>> {
    const uploads = await this.bucket.upload(store.media, store.row, messages, Date.now());
    if (!uploads.ok) return this.write(() => uploads);
    const result = this.write((open, now) => work(open, uploads.value, now));
    // Also when the session was erased while they were on their way.
    this.bucket.release(store.media, uploads.value, Date.now());
    this.#outbox.arm(store, Date.now());
    return result;
  }

  /** A compactor's write. It dies at `point` when that is armed. */
  job<T>(
    point: FaultPoint | null,
    work: (store: SessionStore, now: number) => Result<T, JobRefusal>,
  ): Result<{ readonly store: SessionStore; readonly value: T }, JobRefusal> {
    const store = this.#store;
    if (store === null) return err(NO_JOB);
    const now = Date.now();
    const result = store.atomically(() => work(store, now));
    if (point !== null) this.faults.hit(point);
    this.#written(store, now);
    return result.ok ? ok({ store, value: result.value }) : result;
  }
}

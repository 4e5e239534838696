/**
 * The log is the outbox. The alarm sends what the catalog has not confirmed and wakes compactors; the mark
 * `projected_seq` moves only when the catalog says that it has committed. Nothing here throws: a throwing
 * alarm is retried a few times and then dropped.
 */
import type { SessionEnv } from "../env.ts";
import type { JobRow } from "../jobs/job-store.ts";
import { releaseExpired } from "../jobs/run.ts";
import { logError } from "../log.ts";
import type { MediaBucket } from "../messages/media-bucket.ts";
import type { SessionStore } from "../session-store.ts";
import { nextBatch } from "./facts.ts";

/** Gathers the writes of a burst into one drain. */
const DRAIN_DELAY_MS = 500;
/** When the catalog has confirmed nothing for so long, what it has not confirmed is sent again. */
const RESEND_MS = 30_000;
/** A queued job that nobody claimed is announced again. */
const WAKE_AGAIN_MS = 60_000;
/** After a failure, doubled with each in a row. */
const FIRST_BACKOFF_MS = 5_000;
const MAX_BACKOFF_MS = 300_000;
/** A long log is sent over several alarms, so that none of them runs for long. */
const MAX_BATCHES_PER_DRAIN = 10;
const CLEAN_EVERY_MS = 3_600_000;

export class Outbox {
  readonly #storage: DurableObjectStorage;
  readonly #env: SessionEnv;
  readonly #bucket: MediaBucket;
  /** When the alarm is set to fire, null when it is not: spares a write on most appends. */
  #armedAt: number | null;
  /** Facts up to `to` may be on their way; `since`: when the catalog last got on with them. Evicted: sent again. */
  #sent = { to: 0, since: 0 };
  /** Rises when everything is to be sent anew: a drain that is under way stops. */
  #epoch = 0;
  /** Confirmations that came before the one they follow on. */
  readonly #early = new Map<number, number>();
  #failures = 0;
  #notBefore = 0;
  #cleanedAt = 0;

  constructor(storage: DurableObjectStorage, env: SessionEnv, bucket: MediaBucket, armedAt: number | null) {
    this.#storage = storage;
    this.#env = env;
    this.#bucket = bucket;
    this.#armedAt = armedAt;
  }

  /** Call it in the same turn as any write: then the two are durable together. */
  arm(store: SessionStore, now: number): void {
    const due = this.#due(store, now);
    if (due === null || (this.#armedAt !== null && this.#armedAt <= due)) return;
    this.#armedAt = due;
    void this.#storage.setAlarm(due);
  }

  /** When there is something to do next; null when there is nothing. */
  #due(store: SessionStore, now: number): number | null {
    const times: number[] = [];
    const { head } = store.sequence;
    const confirmed = store.row.projected_seq;
    if (head > Math.max(confirmed, this.#sent.to)) times.push(now + DRAIN_DELAY_MS);
    if (this.#sent.to > confirmed) times.push(this.#sent.since + RESEND_MS);
    const discard = store.media.nextDiscard();
    if (discard !== null) times.push(discard);
    const job = store.jobs.open();
    if (job?.state === "queued") times.push(job.woken_at === null ? now + this.#delayOf(job) : job.woken_at + WAKE_AGAIN_MS);
    if (job?.state === "running" && job.lease_until !== null) times.push(job.lease_until);
    return times.length === 0 ? null : Math.max(now, this.#notBefore, Math.min(...times));
  }

  /** Somebody waits for a summary after an overflow. */
  #delayOf(job: JobRow): number {
    return job.trigger === "overflow" ? 0 : DRAIN_DELAY_MS;
  }

  /** The alarm. The steps fail one by one: a queue that is down does not hold the other back. */
  async drain(store: SessionStore, now: number): Promise<void> {
    this.#armedAt = null;
    store.faults.hit("drain:begun");
    const done = [
      await this.#attempt(store, "tidy", () => this.#tidy(store, now)),
      await this.#attempt(store, "wake", () => this.#wakeCompactor(store, now)),
      await this.#attempt(store, "send", () => this.#sendFacts(store, now)),
      await this.#attempt(store, "collect", () => this.#bucket.collect(store, now)),
    ];
    this.#failures = done.includes(false) ? this.#failures + 1 : 0;
    this.#notBefore = this.#failures === 0 ? 0 : now + Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (this.#failures - 1));
    this.arm(store, Date.now());
  }

  async #attempt(store: SessionStore, step: string, work: () => void | Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      logError("drain_failed", error, { step, session_id: store.row.session_id });
      return false;
    }
  }

  #tidy(store: SessionStore, now: number): void {
    releaseExpired(store, now);
    if (now < this.#cleanedAt + CLEAN_EVERY_MS) return;
    store.keys.deleteExpired(now);
    this.#cleanedAt = now;
  }

  async #wakeCompactor(store: SessionStore, now: number): Promise<void> {
    const job = store.jobs.open();
    if (job?.state !== "queued" || (job.woken_at !== null && job.woken_at + WAKE_AGAIN_MS > now)) return;
    const { tenant_id, session_id } = store.row;
    await this.#env.COMPACTION_JOBS.send({ v: 1, tenant_id, session_id, job_id: job.id });
    store.faults.hit("drain:woken");
    // It may have been claimed while it was sent.
    const present = store.jobs.find(job.id);
    if (present?.state === "queued") store.jobs.markWoken(present, now);
  }

  async #sendFacts(store: SessionStore, now: number): Promise<void> {
    const epoch = this.#epoch;
    const confirmed = store.row.projected_seq;
    const overdue = this.#sent.to > confirmed && this.#sent.since + RESEND_MS <= now;
    if (overdue || this.#sent.to < confirmed) this.#sent = { to: confirmed, since: now };
    for (let batches = 0; batches < MAX_BATCHES_PER_DRAIN; batches++) {
      const batch = nextBatch(store, this.#sent.to);
      if (batch === null) return;
      await this.#env.CATALOG_EVENTS.send(batch);
      store.faults.hit("drain:sent");
      if (this.#epoch !== epoch) return;
      const nothingWaited = this.#sent.to <= store.row.projected_seq;
      this.#sent = { to: batch.to_seq, since: nothingWaited ? Date.now() : this.#sent.since };
    }
  }

  /** The catalog has `(after, to]`. Moves the mark over everything that is confirmed without a gap. */
  confirm(store: SessionStore, after: number, to: number, now: number): void {
    this.#early.set(after, Math.max(to, this.#early.get(after) ?? 0));
    const before = store.row.projected_seq;
    let mark = before;
    for (const [from, until] of [...this.#early].toSorted(([a], [b]) => a - b)) {
      if (from > mark) break;
      this.#early.delete(from);
      mark = Math.max(mark, until);
    }
    if (mark > before) {
      store.save({ projected_seq: mark });
      this.#sent.since = now;
    }
    this.arm(store, now);
  }

  /** Everything again, from the first fact. */
  restart(store: SessionStore, now: number): void {
    store.save({ projected_seq: 0 });
    this.#sent = { to: 0, since: 0 };
    this.#epoch += 1;
    this.#early.clear();
    this.arm(store, now);
  }
}

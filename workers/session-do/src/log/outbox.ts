/**
 * The log is the outbox. The alarm sends what the catalog has not confirmed and wakes compactors; the mark
 * `projected_seq` moves only when the catalog says that it has committed. Nothing here throws: a throwing
 * alarm is retried a few times and then dropped.
 */
import type { SessionEnv } from "../env.ts";
import type { FaultPoints } from "../fault-points.ts";
import { releaseExpired } from "../jobs/run.ts";
import { logError } from "../log.ts";
import type { SessionStore } from "../session-store.ts";
import { nextBatch } from "./facts.ts";

/** Gathers the writes of a burst into one drain. */
const DRAIN_DELAY_MS = 500;
/** After this, what was sent and not confirmed is sent again. */
const RESEND_MS = 30_000;
/** A queued job that nobody claimed is announced again. */
const WAKE_AGAIN_MS = 60_000;
const BACKOFF_MS = 5_000;
const MAX_BATCHES_PER_DRAIN = 10;

export class Outbox {
  readonly #storage: DurableObjectStorage;
  readonly #env: SessionEnv;
  readonly #faults: FaultPoints;
  /** When the alarm is set to fire, null when it is not: spares a write on most appends. */
  #armedAt: number | null;
  /** Facts up to here were sent, at that time, and may be on their way. Forgotten on eviction: sent again. */
  #sent = { to: 0, at: 0 };
  /** Confirmations that came before the one they follow on. */
  readonly #early = new Map<number, number>();

  constructor(storage: DurableObjectStorage, env: SessionEnv, faults: FaultPoints, armedAt: number | null) {
    this.#storage = storage;
    this.#env = env;
    this.#faults = faults;
    this.#armedAt = armedAt;
  }

  /** Call it in the same turn as any write: the alarm is set by the latest of them that needs it. */
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
    if (head > Math.max(store.row.projected_seq, this.#sent.to)) times.push(now + DRAIN_DELAY_MS);
    else if (head > store.row.projected_seq) times.push(this.#sent.at + RESEND_MS);
    const job = store.jobs.open();
    if (job?.state === "queued") times.push(job.woken_at === null ? now + DRAIN_DELAY_MS : job.woken_at + WAKE_AGAIN_MS);
    if (job?.state === "running" && job.lease_until !== null) times.push(job.lease_until);
    return times.length === 0 ? null : Math.max(now, Math.min(...times));
  }

  /** The alarm. */
  async drain(store: SessionStore, now: number): Promise<void> {
    this.#armedAt = null;
    try {
      store.keys.deleteExpired(now);
      releaseExpired(store, now);
      await this.#wakeCompactor(store, now);
      await this.#sendFacts(store, now);
    } catch (error) {
      logError("drain_failed", error, { session_id: store.row.session_id });
      this.#armedAt = now + BACKOFF_MS;
      await this.#storage.setAlarm(this.#armedAt);
      return;
    }
    this.arm(store, Date.now());
  }

  async #wakeCompactor(store: SessionStore, now: number): Promise<void> {
    const job = store.jobs.open();
    if (job?.state !== "queued" || (job.woken_at !== null && job.woken_at + WAKE_AGAIN_MS > now)) return;
    const { tenant_id, session_id } = store.row;
    store.jobs.markWoken(job, now);
    await this.#env.COMPACTION_JOBS.send({ v: 1, tenant_id, session_id, job_id: job.id });
  }

  async #sendFacts(store: SessionStore, now: number): Promise<void> {
    const confirmed = store.row.projected_seq;
    let after = this.#sent.at + RESEND_MS > now ? Math.max(confirmed, this.#sent.to) : confirmed;
    for (let sent = 0; sent < MAX_BATCHES_PER_DRAIN; sent++) {
      const batch = nextBatch(store, after);
      if (batch === null) return;
      await this.#env.CATALOG_EVENTS.send(batch);
      this.#faults.hit("drain:sent");
      after = batch.to_seq;
      this.#sent = { to: after, at: Date.now() };
    }
  }

  /** The catalog has `(after, to]`. Moves the mark over everything that is confirmed without a gap. */
  confirm(store: SessionStore, after: number, to: number): void {
    this.#early.set(after, Math.max(to, this.#early.get(after) ?? 0));
    let mark = store.row.projected_seq;
    for (let moved = true; moved;) {
      moved = false;
      for (const [from, until] of this.#early) {
        if (from > mark) continue;
        this.#early.delete(from);
        moved = true;
        mark = Math.max(mark, until);
      }
    }
    if (mark > store.row.projected_seq) store.save({ projected_seq: mark });
    this.arm(store, Date.now());
  }

  /** Everything again, from the first fact. */
  restart(store: SessionStore): void {
    store.save({ projected_seq: 0 });
    this.#sent = { to: 0, at: 0 };
    this.#early.clear();
    this.arm(store, Date.now());
  }
}

/** Idempotency keys of the session's writes, kept in the transaction of the effect. */
import { type Problem, problem } from "@sessionplane/shared/problem";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { Idempotency, Written } from "@sessionplane/shared/rpc/session-rpc";

/** Longer than the day that the API promises. */
const KEPT_MS = 48 * 60 * 60 * 1000;

const MISMATCH = problem("idempotency_mismatch", "This Idempotency-Key was used for another request.");

export class IdempotencyKeys {
  readonly #sql: SqlStorage;
  readonly #outlives: 0 | 1;

  /** `outlives`: what is written once a key outlives an erasure, and so must the key. */
  constructor(sql: SqlStorage, outlives: 0 | 1 = 0) {
    this.#sql = sql;
    this.#outlives = outlives;
  }

  /**
   * Runs `effect` once a key: it returns the reply and the receipt from which `replay` builds the reply
   * again. A refusal is not kept. Call it inside the transaction of the effect.
   */
  once<T>(
    idempotency: Idempotency | undefined,
    now: number,
    effect: () => Result<{ readonly reply: T; readonly receipt: string }, Problem>,
    replay: (receipt: string) => T,
  ): Result<Written<T>, Problem> {
    if (idempotency === undefined) {
      const done = effect();
      return done.ok ? ok({ value: done.value.reply, replayed: false }) : done;
    }
    const { key, fingerprint } = idempotency;
    const present = this.#sql
      .exec<{ fingerprint: string; receipt: string }>("SELECT fingerprint, receipt FROM idempotency WHERE key = ?", key)
      .toArray()[0];
    if (present !== undefined) {
      return present.fingerprint === fingerprint ? ok({ value: replay(present.receipt), replayed: true }) : err(MISMATCH);
    }
    const done = effect();
    if (!done.ok) return done;
    this.#sql.exec(
      "INSERT INTO idempotency (key, fingerprint, receipt, created_at, outlives) VALUES (?, ?, ?, ?, ?)",
      ...[key, fingerprint, done.value.receipt, now, this.#outlives],
    );
    return ok({ value: done.value.reply, replayed: false });
  }

  /** What an erasure takes. */
  erase(): void {
    this.#sql.exec("DELETE FROM idempotency WHERE outlives = 0");
  }

  deleteExpired(now: number): void {
    this.#sql.exec("DELETE FROM idempotency WHERE created_at < ?", now - KEPT_MS);
  }
}

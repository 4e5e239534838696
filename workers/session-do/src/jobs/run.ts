/**
 * What a compactor does with a job: claim it with a lease, read its range, commit or fail it. A fence that
 * rises with every claim keeps a compactor that lost its lease from writing.
 */
import { type JobId, newId } from "@sessionplane/shared/ids";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { ClaimedJob, JobCommit, JobFailure, JobItem, JobRefusal } from "@sessionplane/shared/rpc/job-rpc";
import type { SeqPage } from "@sessionplane/shared/rpc/session-rpc";
import type { PricedUsage } from "@sessionplane/shared/usage-event";
import { messageSchema } from "@sessionplane/shared/message";
import { overlayTokens } from "@sessionplane/engine/history/overlay-message";
import { maskedRead } from "@sessionplane/engine/history/masked-read";
import { segments, standing } from "@sessionplane/engine/history/apply-overlays";
import type { NewOverlay } from "@sessionplane/engine/storage/sqlite/overlays";
import { within } from "@sessionplane/engine/tree/runs";
import type { SessionStore } from "../session-store.ts";
import { recordEvent } from "../usage/record-event.ts";
import { type JobRow, feedsOf, policyOf } from "./job-store.ts";
import { placeOverlay } from "./overlays.ts";
import { endStale, refreshed, stillStands } from "./stale.ts";

/** Longer than any summary takes; what a dead compactor holds back. */
export const LEASE_MS = 5 * 60 * 1000;
/** A rejected summary is tried once more, with the reason in the prompt. */
const MAX_REJECTIONS = 2;
/** More than a wake-up's deliveries bring about: who comes so far loses its compactors to the job itself. */
const MAX_ATTEMPTS = 10;
const PAGE_ITEMS = 200;
const PAGE_BYTES = 4 * 1024 * 1024;

const refuse = (code: JobRefusal["code"], detail: string) => err({ code, detail });

export function claim(store: SessionStore, id: JobId, now: number): Result<ClaimedJob, JobRefusal> {
  const found = store.jobs.find(id);
  if (found === null) return refuse("not_found", "no such job");
  if (found.state === "running" && (found.lease_until ?? 0) > now) return refuse("leased", "another compactor has it");
  if (found.state !== "queued" && found.state !== "running") return refuse("not_open", `the job is ${found.state}`);
  const job = refreshed(store, found, now);
  if (job === null) return refuse("not_open", "the job's range has changed, and nothing is left to summarise");
  const leaseUntil = now + LEASE_MS;
  const claimed = store.jobs.write(
    { ...job, state: "running", fence: job.fence + 1, lease_until: leaseUntil, attempts: job.attempts + 1 },
    now,
  );
  return ok({
    job_id: id,
    fence: claimed.fence,
    lease_expires_at: leaseUntil,
    attempt: claimed.attempts,
    from_id: job.from_id,
    to_id: job.to_id,
    messages: job.messages,
    tokens: job.tokens_before,
    policy: policyOf(job),
    rejected_because: job.rejected_because,
    instructions: job.instructions,
  });
}

/** The job, if the caller still holds it. */
function held(store: SessionStore, id: JobId, fence: number): Result<JobRow, JobRefusal> {
  const job = store.jobs.find(id);
  if (job === null) return refuse("not_found", "no such job");
  if (job.fence !== fence) return refuse("fence_lost", "another compactor has claimed the job since");
  // A lease that ran out takes nothing away while nobody else has the job.
  return job.state === "running" || job.state === "queued" ? ok(job) : refuse("not_open", `the job is ${job.state}`);
}

function* rangeItems(
  store: SessionStore,
  job: JobRow,
  afterSeq: number,
): Generator<{ seq: number; bytes: number; item: JobItem }> {
  const path = within(store.messages.pathTo(job.leaf_seq), job.from_seq, job.to_seq);
  const feeds = feedsOf(job);
  const fed = store.overlays.all().filter(({ id }) => feeds.includes(id));
  for (const segment of segments(path, standing(fed, path))) {
    if (segment.kind === "overlay") {
      const { id, to_seq: toSeq, summary, tokens_after: tokens } = segment.overlay;
      if (toSeq > afterSeq)
        yield { seq: toSeq, bytes: summary.length, item: { kind: "overlay", overlay_id: id, summary, tokens } };
      continue;
    }
    for (const stored of store.messages.scan(within(segment.path, afterSeq + 1, job.to_seq), "asc")) {
      const row = maskedRead(stored, store.skills.masks());
      const message = messageSchema.parse(JSON.parse(row.json));
      yield {
        seq: row.seq,
        bytes: row.bytes,
        item: { kind: "message", message, tokens: row.tokens, created_at: row.created_at },
      };
    }
  }
}

export function readRange(store: SessionStore, id: JobId, fence: number, afterSeq: number): Result<SeqPage<JobItem>, JobRefusal> {
  const job = held(store, id, fence);
  if (!job.ok) return job;
  const items: JobItem[] = [];
  let bytes = 0;
  let last = afterSeq;
  for (const read of rangeItems(store, job.value, afterSeq)) {
    bytes += read.bytes;
    if (items.length > 0 && (items.length >= PAGE_ITEMS || bytes > PAGE_BYTES)) return ok({ items, next_seq: last });
    items.push(read.item);
    last = read.seq;
  }
  return ok({ items, next_seq: null });
}

/** A long range takes longer than a lease: whoever goes on with it says so. */
export function renewLease(store: SessionStore, id: JobId, fence: number, now: number): Result<number, JobRefusal> {
  const job = held(store, id, fence);
  if (!job.ok) return job;
  const until = now + LEASE_MS;
  store.jobs.extendLease(job.value, until);
  return ok(until);
}

/** Calls that were made are paid for, whatever became of the job. What is known already is no news. */
export function recordUsage(
  store: SessionStore,
  id: JobId,
  usage: readonly PricedUsage[],
  now: number,
): Result<null, JobRefusal> {
  const job = store.jobs.find(id);
  // Of an erased session no job is left.
  if (job === null && store.row.status !== "erased") return refuse("not_found", "no such job");
  if (recordAll(store, id, usage, now) > 0 && job !== null) store.jobs.restate(job);
  return ok(null);
}

/** How many of them were new. */
const recordAll = (store: SessionStore, id: JobId, usage: readonly PricedUsage[], now: number): number =>
  usage.map((event) => recordEvent(store, event, id, now)).filter(({ status }) => status === "created").length;

/** The range's originals, in tokens: what the overlay stands for, not what an earlier one had made of it. */
function originalTokens(store: SessionStore, job: JobRow): number {
  const before = store.messages.parentOf(job.from_seq)?.seq ?? 0;
  return store.messages.totalsTo(job.to_seq).tokens - store.messages.totalsTo(before).tokens;
}

function applySummary(store: SessionStore, job: JobRow, commit: JobCommit, now: number): JobRow {
  const tokensAfter = overlayTokens(commit.summary);
  const overlay: NewOverlay = {
    seq: store.sequence.next(),
    id: newId("overlay"),
    from_seq: job.from_seq,
    to_seq: job.to_seq,
    from_id: job.from_id,
    to_id: job.to_id,
    summary: commit.summary,
    messages: job.messages,
    tokens_before: originalTokens(store, job),
    tokens_after: tokensAfter,
    retention: commit.retention,
    model: commit.model,
    job_id: job.id,
    created_at: now,
  };
  placeOverlay(store, overlay);
  store.faults.hit("commit:summarised");
  if (store.row.failures > 0) store.save({ failures: 0 });
  const retention = commit.retention === null ? null : JSON.stringify(commit.retention);
  return store.jobs.write(
    {
      ...job,
      state: "applied",
      lease_until: null,
      overlay_id: overlay.id,
      tokens_after: tokensAfter,
      model: commit.model,
      retention,
      error: null,
    },
    now,
  );
}

/** Overlay, usage and job in one transaction (the caller's). What the calls cost is kept either way. */
export function commit(store: SessionStore, id: JobId, fence: number, input: JobCommit, now: number): Result<JobRow, JobRefusal> {
  const job = held(store, id, fence);
  if (!job.ok) return job;
  recordAll(store, id, input.usage, now);
  store.faults.hit("commit:recorded");
  if (!stillStands(store, job.value)) return ok(endStale(store, job.value, now));
  const applied = applySummary(store, job.value, input, now);
  // What waited for this job to end.
  store.trigger.renew(store, policyOf(applied), now);
  return ok(applied);
}

const endBadly = (store: SessionStore, job: JobRow, state: "rejected" | "failed", now: number): JobRow => {
  store.save({ failures: store.row.failures + 1 });
  return store.jobs.write({ ...job, state, lease_until: null }, now);
};

/**
 * In one transaction (the caller's). The attempt is over with it: the fence rises, by which a report that comes
 * again, its reply lost, is known and counts once.
 */
export function fail(
  store: SessionStore,
  id: JobId,
  fence: number,
  failure: JobFailure,
  now: number,
): Result<JobRow, JobRefusal> {
  const told = store.jobs.find(id);
  if (told?.state === "queued" && told.fence === fence + 1) return ok(told);
  const current = held(store, id, fence);
  if (!current.ok) return current;
  recordAll(store, id, failure.usage, now);
  const job = { ...current.value, error: JSON.stringify(failure.error), model: failure.model };
  if (failure.outcome === "fail") return ok(endBadly(store, job, "failed", now));
  // The compactor's own queue message brings the next attempt; the alarm does when that is lost.
  const again = { ...job, state: "queued", fence: job.fence + 1, lease_until: null, woken_at: now };
  if (failure.outcome === "retry") return ok(store.jobs.write(again, now));
  const rejections = job.rejections + 1;
  const rejected = { ...again, rejections, rejected_because: failure.error.detail };
  return ok(rejections >= MAX_REJECTIONS ? endBadly(store, rejected, "rejected", now) : store.jobs.write(rejected, now));
}

const GAVE_UP = { code: "gave_up", detail: "the queue gave up on the job" };
const DIED = { code: "gave_up", detail: "no compactor came to an end with the job" };

/** The queue gave up on a wake-up. Who was woken by another may still be at work: then it is theirs to end. */
export function deadLetter(store: SessionStore, id: JobId, now: number): Result<JobRow, JobRefusal> {
  const job = store.jobs.find(id);
  if (job === null) return refuse("not_found", "no such job");
  if (job.state !== "queued" && job.state !== "running") return refuse("not_open", `the job is ${job.state}`);
  if (job.state === "running" && (job.lease_until ?? 0) > now) return refuse("leased", "a compactor has it");
  return ok(endBadly(store, { ...job, error: job.error ?? JSON.stringify(GAVE_UP) }, "failed", now));
}

/** A lease that ran out: its compactor is dead, and the job is queued again, but not for ever. */
export function releaseExpired(store: SessionStore, now: number): void {
  const job = store.jobs.open();
  if (job === null || job.state !== "running" || (job.lease_until ?? 0) > now) return;
  if (job.attempts < MAX_ATTEMPTS) store.jobs.write({ ...job, state: "queued", lease_until: null, woken_at: null }, now);
  else endBadly(store, { ...job, error: JSON.stringify(DIED) }, "failed", now);
}

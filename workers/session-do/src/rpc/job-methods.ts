/** The object's methods that are about its compaction: what people ask for, and what a compactor does. */
import type { JobId } from "@sessionplane/shared/ids";
import { type Result, err, ok } from "@sessionplane/shared/result";
import type { JobRefusal } from "@sessionplane/shared/rpc/job-rpc";
import type { SessionRpc } from "@sessionplane/shared/rpc/session-rpc";
import type { JobRow } from "../jobs/job-store.ts";
import * as overlays from "../jobs/overlays.ts";
import { planCompaction } from "../jobs/preview.ts";
import * as requests from "../jobs/requests.ts";
import * as run from "../jobs/run.ts";
import { seqPage } from "../seq-page.ts";
import type { SessionStore } from "../session-store.ts";
import { NO_JOB } from "../turns.ts";
import { ContextMethods } from "./context-methods.ts";
import type { Input } from "./session-object.ts";

/** A job as compactors see it. */
const shown = (done: Result<{ readonly store: SessionStore; readonly value: JobRow }, JobRefusal>) =>
  done.ok ? ok(requests.showJob(done.value.store, done.value.value)) : done;

export abstract class JobMethods extends ContextMethods {
  async requestCompaction(input: Input<"requestCompaction">) {
    return this.turns.write((store, now) => requests.requestCompaction(store, input, now));
  }

  async planCompaction(input: Input<"planCompaction">) {
    return this.turns.read((store) => planCompaction(store, input));
  }

  async addOverlay(input: Input<"addOverlay">) {
    return this.turns.write((store, now) => overlays.addOverlay(store, input, now));
  }

  async getOverlay(id: string) {
    return this.turns.read((store) => overlays.getOverlay(store, id));
  }

  async deleteOverlay(input: Input<"deleteOverlay">) {
    return this.turns.write((store, now) => overlays.deleteOverlay(store, input, now));
  }

  async rerunOverlay(input: Input<"rerunOverlay">) {
    return this.turns.write((store, now) => requests.rerunOverlay(store, input, now));
  }

  async listOverlays(query: Input<"listOverlays">) {
    return this.turns.read((store) => ok(overlays.listOverlays(store, query)));
  }

  async listJobs({ limit, before_seq: before }: Input<"listJobs">) {
    return this.turns.read((store) => ok(seqPage(store.jobs.list(limit, before), limit, (job) => requests.showJob(store, job))));
  }

  async getJob(id: string) {
    return this.turns.read((store) => requests.getJob(store, id));
  }

  async cancelJob(input: Input<"cancelJob">) {
    return this.turns.write((store, now) => requests.cancelJob(store, input, now));
  }

  async retryJob(input: Input<"retryJob">) {
    return this.turns.write((store, now) => requests.retryJob(store, input, now));
  }

  async claimJob(id: JobId) {
    const claimed = this.turns.job("claim:written", (store, now) => run.claim(store, id, now));
    return claimed.ok ? ok(claimed.value.value) : claimed;
  }

  async readJobRange(id: JobId, fence: number, afterSeq: number) {
    const { store } = this.turns;
    return store === null ? err(NO_JOB) : run.readRange(store, id, fence, afterSeq);
  }

  async renewLease(id: JobId, fence: number) {
    const renewed = this.turns.job(null, (store, now) => run.renewLease(store, id, fence, now));
    return renewed.ok ? ok(renewed.value.value) : renewed;
  }

  async recordJobUsage(id: JobId, usage: Parameters<SessionRpc["recordJobUsage"]>[1]) {
    const recorded = this.turns.job(null, (store, now) => run.recordUsage(store, id, usage, now));
    return recorded.ok ? ok(null) : recorded;
  }

  async commitJob(id: JobId, fence: number, commit: Parameters<SessionRpc["commitJob"]>[2]) {
    this.turns.faults.hit("commit:before");
    return shown(this.turns.job("commit:written", (store, now) => run.commit(store, id, fence, commit, now)));
  }

  async failJob(id: JobId, fence: number, failure: Parameters<SessionRpc["failJob"]>[2]) {
    return shown(this.turns.job("fail:written", (store, now) => run.fail(store, id, fence, failure, now)));
  }

  async deadLetterJob(id: JobId) {
    return shown(this.turns.job(null, (store, now) => run.deadLetter(store, id, now)));
  }
}

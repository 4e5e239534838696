import { describe, expect, test } from "vitest";
import { GOOD_SUMMARY } from "../../../tests/support/model-server.ts";
import { type CompactionJob, compactionJobSchema } from "@sessionplane/shared/compaction-job";
import { DEFAULT_COMPACTION_POLICY } from "@sessionplane/shared/compaction-policy";
import { newId } from "@sessionplane/shared/ids";
import { problem } from "@sessionplane/shared/problem";
import { err, ok } from "@sessionplane/shared/result";
import type { ClaimedJob, JobCommit, JobFailure, JobItem } from "@sessionplane/shared/rpc/job-rpc";
import type { NewUsageEvent, PricedUsage } from "@sessionplane/shared/usage-event";
import { CHUNK_TOKENS } from "./fold.ts";
import { type CompactionDeps, runJob } from "./run-job.ts";
import type { ModelAnswer } from "./summarise.ts";

const JOB_ID = newId("job");
const NOW = 1_000_000;
const claimed = (patch: Partial<ClaimedJob> = {}): ClaimedJob => ({
  job_id: JOB_ID,
  fence: 7,
  lease_expires_at: NOW + 300_000,
  attempt: 1,
  from_id: "m1",
  to_id: "m9",
  messages: 9,
  tokens: 4_000,
  policy: DEFAULT_COMPACTION_POLICY,
  rejected_because: null,
  instructions: null,
  ...patch,
});
const said = (id: string, text: string): JobItem => ({
  kind: "message",
  message: { id, role: "user", parts: [{ type: "text", text }] },
  tokens: 10,
  created_at: 0,
});
const jobIn = (state: CompactionJob["state"]): CompactionJob =>
  compactionJobSchema.parse({
    id: JOB_ID,
    session_id: "s",
    state,
    trigger: "automatic",
    leaf_id: "m9",
    from_id: "m1",
    to_id: "m9",
    messages: 9,
    renews_overlay_id: null,
    replaced_by_job_id: null,
    tokens_before: 4_000,
    tokens_after: null,
    attempts: 1,
    overlay_id: null,
    model: null,
    retention: null,
    cost: null,
    error: null,
    created_at: "2026-11-30T00:00:00Z",
    updated_at: "2026-11-30T00:00:00Z",
  });
const reported = { inputTokens: 900, outputTokens: 40 };
const answered = (text: string, patch: Partial<ModelAnswer> = {}): ModelAnswer => ({
  text,
  finishReason: "stop",
  usage: { reported, estimated: { input: 5, output: 6 } },
  ...patch,
});
const pricedAs = (event: NewUsageEvent): PricedUsage => ({
  id: event.id ?? "",
  fingerprint: "f",
  provider: "p",
  model: event.model,
  purpose: event.purpose ?? "other",
  status: event.status ?? "final",
  user_id: null,
  message_id: null,
  request_id: null,
  tags: {},
  occurred_at: 0,
  input_tokens: 0,
  output_tokens: 0,
  lines: [],
  raw_usage: JSON.stringify(event.usage),
  normalizer_version: 1,
});

/** A plane in which everything goes well, its log, and what ended the job. */
function plane(
  patch: Partial<CompactionDeps> = {},
  pages: readonly (readonly JobItem[])[] = [[said("m1", "Item K42 costs $9.10.")]],
) {
  const log: string[] = [];
  const commits: JobCommit[] = [];
  const failures: JobFailure[] = [];
  const prompts: string[] = [];
  const whole: CompactionDeps = {
    claim: async () => ok(claimed()),
    readRange: async (_fence, after) => ok({ items: pages[after] ?? [], next_seq: after + 1 < pages.length ? after + 1 : null }),
    renew: async () => ok(NOW + 300_000),
    record: async () => ok(null),
    commit: async () => ok(jobIn("applied")),
    fail: async (_fence, { outcome }) => ok(jobIn(outcome === "fail" ? "failed" : "queued")),
    model: () => ({ id: "p/m", call: async () => ok(answered(GOOD_SUMMARY)) }),
    price: async (events) => ok(events.map(pricedAs)),
    warn: () => {},
    nonce: () => "n0nce",
    now: () => NOW,
    pause: async () => {},
    ...patch,
  };
  const deps: CompactionDeps = {
    ...whole,
    claim: () => (log.push("claim"), whole.claim()),
    readRange: (fence, after) => (log.push(`read ${fence} after ${after}`), whole.readRange(fence, after)),
    renew: (fence) => (log.push(`renew ${fence}`), whole.renew(fence)),
    record: (usage) => (log.push(`record ${usage.length}`), whole.record(usage)),
    commit: (fence, commit) => (log.push(`commit ${fence}`), commits.push(commit), whole.commit(fence, commit)),
    fail: (fence, failure) => (
      log.push(`${failure.outcome} ${failure.error.code}`),
      failures.push(failure),
      whole.fail(fence, failure)
    ),
    price: (events) => (log.push(`price ${events.length} ${events[0]?.status}`), whole.price(events)),
    model: (asked) => {
      const { id, call } = whole.model(asked);
      return { id, call: call && ((input) => (log.push("model"), prompts.push(input.prompt), call(input))) };
    },
  };
  return { deps, log, commits, failures, prompts };
}

const failing = (times: number): (() => void) => {
  let left = times;
  return () => {
    if (left-- > 0) throw new Error("the object moved");
  };
};

describe("runJob", () => {
  test("claims, reads page by page, asks the model once, prices, commits with the fence", async () => {
    const { deps, log, commits } = plane({}, [[said("m1", "Item K42.")], [said("m2", "It costs $9.10.")]]);
    expect(await runJob(deps)).toEqual({ kind: "ended", state: "applied" });
    expect(log).toEqual(["claim", "read 7 after 0", "read 7 after 1", "model", "price 1 final", "commit 7"]);
    expect(commits[0]).toMatchObject({ model: "p/m", retention: { facts: 2, kept: 2, dropped: [] } });
    expect(commits[0]?.summary).toContain("- K42; $9.10");
    expect(commits[0]?.usage).toMatchObject([
      { id: `${JOB_ID}:7:0`, purpose: "compaction", raw_usage: JSON.stringify(reported) },
    ]);
  });

  test("feeds earlier summaries and says why the last summary was refused", async () => {
    const earlier: JobItem = { kind: "overlay", overlay_id: "o1", summary: "## Topic\nA trip to Brno.", tokens: 9 };
    const { deps, prompts } = plane({ claim: async () => ok(claimed({ rejected_because: "it was empty" })) }, [
      [earlier, said("m1", "On.")],
    ]);
    await runJob(deps);
    expect(prompts[0]).toContain("A trip to Brno.");
    expect(prompts[0]).toContain("it was empty");
  });

  test.each(["not_found", "not_open", "leased", "fence_lost"] as const)(
    "does nothing more when the claim is refused: %s",
    async (code) => {
      const { deps, log } = plane({ claim: async () => err({ code, detail: "" }) });
      expect(await runJob(deps)).toEqual({ kind: "refused", code });
      expect(log).toEqual(["claim"]);
    },
  );

  test.each([
    ["at the commit", { commit: async () => err({ code: "fence_lost", detail: "" } as const) }],
    [
      "at a failure",
      {
        fail: async () => err({ code: "not_open", detail: "" } as const),
        model: () => ({ id: "p/m", call: async () => ok(answered("")) }),
      },
    ],
  ])("tells what its call cost where it has lost the job %s", async (_name, patch) => {
    const { deps, log } = plane(patch);
    expect((await runJob(deps)).kind).toBe("refused");
    expect(log.slice(-2)).toEqual(["price 1 final", "record 1"]);
  });

  test("holds its lease from call to call, and stops when it can't", async () => {
    const half = "word ".repeat(CHUNK_TOKENS / 2.5);
    const pages = [[said("m1", half), said("m2", half)], [said("m3", half)]];
    const long = plane({ now: () => NOW + 250_000, renew: async () => ok(NOW + 600_000) }, pages);
    expect(await runJob(long.deps)).toEqual({ kind: "ended", state: "applied" });
    expect(long.log.filter((line) => line.startsWith("renew"))).toEqual(["renew 7"]);
    const lost = plane({ renew: async () => err({ code: "fence_lost", detail: "" }) }, pages);
    expect(await runJob(lost.deps)).toEqual({ kind: "refused", code: "fence_lost" });
    expect(lost.log.slice(-3)).toEqual(["renew 7", "price 1 final", "record 1"]);
  });

  test("bills calls that nobody can price without an amount, rather than not at all", async () => {
    const warned: string[] = [];
    const { deps, commits } = plane({
      price: async () => Promise.reject(new Error("no catalog")),
      warn: (event) => void warned.push(event),
    });
    expect(await runJob(deps)).toEqual({ kind: "ended", state: "applied" });
    expect(warned).toEqual(["usage_unpriced"]);
    expect(commits[0]?.usage).toMatchObject([
      {
        id: `${JOB_ID}:7:0`,
        provider: "p",
        model: "m",
        input_tokens: 5,
        output_tokens: 6,
        lines: [{ price: null }, { price: null }],
      },
    ]);
  });

  test("passes on what whoever asked wants, outside of the transcript", async () => {
    const { deps, prompts } = plane({ claim: async () => ok(claimed({ instructions: "Keep the names of cities." })) });
    await runJob(deps);
    const [before = ""] = prompts[0]?.split("BEGIN TRANSCRIPT") ?? [];
    expect(before).toContain("Keep the names of cities.");
  });

  test("stops where it has lost the job: it writes nothing", async () => {
    const { deps, log } = plane({ readRange: async () => err({ code: "fence_lost", detail: "" }) });
    expect(await runJob(deps)).toEqual({ kind: "refused", code: "fence_lost" });
    expect(log).toEqual(["claim", "read 7 after 0"]);
  });

  test.each([
    ["busy", { kind: "status", status: 429 }, "retry model_status_429", { kind: "again", code: "model_status_429" }],
    ["slow", { kind: "timeout" }, "retry model_timeout", { kind: "again", code: "model_timeout" }],
    ["of another key", { kind: "status", status: 401 }, "fail model_status_401", { kind: "ended", state: "failed" }],
  ] as const)("ends the attempt when the model is %s", async (_name, failure, ending, outcome) => {
    const { deps, log } = plane({ model: () => ({ id: "p/m", call: async () => err(failure) }) });
    expect(await runJob(deps)).toEqual(outcome);
    expect(log).toEqual(["claim", "read 7 after 0", "model", ending]);
  });

  test("fails a job whose model no provider has, by its name", async () => {
    const { deps, failures } = plane({ model: (asked) => ({ id: asked ?? "x/y", call: null }) });
    expect(await runJob(deps)).toEqual({ kind: "ended", state: "failed" });
    expect(failures[0]).toMatchObject({ outcome: "fail", error: { code: "unknown_model" }, model: "x/y", usage: [] });
  });

  test.each([
    ["a rejected summary", answered("They talked."), "reject", "summary_rejected"],
    ["a refused content", answered("", { finishReason: "content-filter" }), "fail", "model_refused"],
  ])("passes on the usage of %s", async (_name, answer, outcome, code) => {
    const { deps, log, failures } = plane({ model: () => ({ id: "p/m", call: async () => ok(answer) }) });
    await runJob(deps);
    expect(log.slice(-2)).toEqual(["price 1 final", `${outcome} ${code}`]);
    expect(failures[0]?.usage).toHaveLength(1);
  });

  test("counts by itself what a server does not report, and what the catalog can't read", async () => {
    const silent = answered(GOOD_SUMMARY, { usage: { reported: {}, estimated: { input: 5, output: 6 } } });
    const unreported = plane({ model: () => ({ id: "p/m", call: async () => ok(silent) }) });
    await runJob(unreported.deps);
    expect(unreported.log.at(-2)).toBe("price 1 estimated");

    const unread = plane({
      price: async (events) => (events[0]?.status === "final" ? err(problem("ambiguous_usage", "")) : ok(events.map(pricedAs))),
    });
    await runJob(unread.deps);
    expect(unread.log.slice(-3)).toEqual(["price 1 final", "price 1 estimated", "commit 7"]);
    expect(unread.commits[0]?.usage[0]?.raw_usage).toBe('{"input":5,"output":6}');
  });

  test("folds a range larger than one call, and bills every call", async () => {
    const half = "word ".repeat(CHUNK_TOKENS / 2.5);
    const { deps, log, prompts, commits } = plane({}, [[said("m1", half), said("m2", half)], [said("m3", half)]]);
    await runJob(deps);
    expect(log.filter((line) => line === "model")).toHaveLength(2);
    expect(prompts[1]).toContain("SUMMARY");
    expect(commits[0]?.usage.map((event) => event.id)).toEqual([`${JOB_ID}:7:0`, `${JOB_ID}:7:1`]);
  });

  test("never folds on from a summary that may not stand", async () => {
    const chunk = "word ".repeat(CHUNK_TOKENS / 1.3);
    const call = async () => ok(answered(GOOD_SUMMARY, { finishReason: "length" }));
    const { deps, log } = plane({ model: () => ({ id: "p/m", call }) }, [[said("m1", chunk), said("m2", chunk)]]);
    await runJob(deps);
    expect(log.slice(-3)).toEqual(["model", "price 1 final", "reject summary_rejected"]);
  });

  test("reads a message of megabytes as chunks", async () => {
    const { deps, log } = plane({}, [[said("m1", "It went on and on, and on. ".repeat(20_000))]]);
    expect(await runJob(deps)).toEqual({ kind: "ended", state: "applied" });
    expect(log.filter((line) => line === "model").length).toBeGreaterThan(2);
  });

  test("calls no model that could not be done within the lease", async () => {
    const { deps, log } = plane({ now: () => NOW + 290_000 });
    expect(await runJob(deps)).toEqual({ kind: "again", code: "lease_ran_out" });
    expect(log).toEqual(["claim", "read 7 after 0", "retry lease_ran_out"]);
  });

  test("fails a range in which nothing was said", async () => {
    const { deps, log } = plane({}, [[]]);
    await runJob(deps);
    expect(log.at(-1)).toBe("fail empty_range");
  });

  test("tries pricing and the commit again while the plane does not answer: no summary is paid for twice", async () => {
    const [priceOnce, commitTwice] = [failing(1), failing(2)];
    const { deps, log } = plane({
      price: async (events) => (priceOnce(), ok(events.map(pricedAs))),
      commit: async () => (commitTwice(), ok(jobIn("applied"))),
    });
    expect(await runJob(deps)).toEqual({ kind: "ended", state: "applied" });
    expect(log.slice(2)).toEqual(["model", "price 1 final", "price 1 final", "commit 7", "commit 7", "commit 7"]);
  });

  test("throws when the plane goes on not answering, for the queue to bring it back", async () => {
    const always = failing(Infinity);
    const { deps } = plane({ commit: async () => (always(), ok(jobIn("applied"))) });
    await expect(runJob(deps)).rejects.toThrow("the object moved");
  });
});

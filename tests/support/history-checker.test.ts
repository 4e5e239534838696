import { describe, expect, test } from "vitest";
import { type Acknowledged, type Seen, violations } from "./history-checker.ts";

const IDS = ["m0", "m1", "m2", "m3", "m4"];
const raw = IDS.map((id) => ({ id, text: `text of ${id}`, tokens: 10 }));
const acknowledged: Acknowledged = { written: new Map(raw.map(({ id, text }) => [id, text])), completions: 1 };
const overlay = { id: "ovl_1", from_id: "m1", to_id: "m3", messages: 3, tokens_before: 30, tokens_after: 5 };
const sound: Seen = {
  raw,
  history: [raw[0], { id: "compaction_ovl_1", text: "summary", tokens: 5 }, raw[4]].filter((one) => one !== undefined),
  tokenEstimate: 25,
  overlays: [overlay],
  told: ["queued", "running", "applied"].map((state) => ({ job_id: "job_1", state })),
  usageEvents: [{ id: "job_1:1:0", input_tokens: 9, output_tokens: 1, cost: { amount: "0.000000007" } }],
  usage: { events: 1, input_tokens: 9, output_tokens: 1, cost: { amount: "0.000000007" } },
  listed: { message_count: 5 },
  described: { message_count: 5, calibration: 1 },
};
const found = (change: Partial<Seen>, also: Partial<Acknowledged> = {}): string[] =>
  violations({ ...acknowledged, ...also }, { ...sound, ...change });

test("a sound history has no violation", () => {
  expect(found({})).toEqual([]);
});

describe("the checker catches", () => {
  test.each<readonly [string, Partial<Seen>, string]>([
    ["a lost message", { raw: raw.filter(({ id }) => id !== "m4") }, "m4 was acknowledged and is missing"],
    ["a message that was never written", { raw: [...raw, { id: "x", text: "", tokens: 0 }] }, "x is there and should not be"],
    ["a message that is there twice", { raw: [...raw, ...raw.slice(4)] }, "a message is there twice"],
    ["a lost edit", { raw: raw.map((one) => ({ ...one, text: "old" })) }, "m0 does not show what was last acknowledged"],
    ["an overlay that covers more than it claims", { overlays: [{ ...overlay, messages: 2 }] }, "claims 2 messages and covers 3"],
    ["an overlay of other tokens", { overlays: [{ ...overlay, tokens_before: 29 }] }, "claims 29 tokens and covers 30"],
    ["an overlay whose ends are reversed", { overlays: [{ ...overlay, from_id: "m3", to_id: "m1" }] }, "no range of the path"],
    ["an overlay that is shown and not there", { overlays: [] }, "compaction_ovl_1 stands where m1 should"],
    [
      "a history that resurrects what is summarised",
      { history: [...sound.history.slice(0, 2), ...raw.slice(3)] },
      "stands where m4",
    ],
    ["a history that ends early", { history: sound.history.slice(0, 2) }, "the history ends before m4"],
    ["an estimate of its own", { tokenEstimate: 26 }, "the estimate is 26, the history has 25 tokens"],
    [
      "two open jobs",
      { told: [{ job_id: "job_2", state: "queued" }, ...sound.told, { job_id: "job_2", state: "failed" }] },
      "two jobs were open: job_2, job_1",
    ],
    ["a job that stays open", { told: sound.told.slice(0, 2) }, "job_1 is still running"],
    ["a job that ends twice", { told: [...sound.told, ...sound.told.slice(2)] }, "job_1 was told to be applied twice"],
    [
      "a job that goes on after its end",
      { told: [...sound.told, { job_id: "job_1", state: "failed" }] },
      "failed after it was applied",
    ],
    ["a call that nobody is billed for", { usageEvents: [] }, "1 calls were answered, 0 are billed"],
    ["a call that is billed twice", { usageEvents: [...sound.usageEvents, ...sound.usageEvents] }, "a call is billed twice"],
    [
      "sums that do not add up",
      { usage: { ...sound.usage, cost: { amount: "0.000000008" } } },
      "the session's cost are 8, its events' 7",
    ],
    ["a catalog that is behind", { listed: { message_count: 4 } }, "the catalog's message_count is 4, the session's 5"],
  ])("%s", (_name, change, sentence) => {
    expect(found(change).join("\n")).toContain(sentence);
  });

  test("what was deleted and is there", () => {
    const written = new Map([...acknowledged.written].filter(([id]) => id !== "m2"));
    expect(found({}, { written })).toContain("m2 is there and should not be");
  });
});

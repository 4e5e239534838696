import { describe, expect, test } from "vitest";
import { settle, stopOf } from "./settle.ts";

describe("stopOf", () => {
  test.each([408, 409, 425, 429, 500, 502, 503, 504, 529])("tries again after a status of %i", (status) => {
    expect(stopOf({ kind: "status", status })).toMatchObject({ outcome: "retry", error: { code: `model_status_${status}` } });
  });

  test.each([400, 401, 402, 403, 404, 413, 422])("gives up at a status of %i", (status) => {
    expect(stopOf({ kind: "status", status }).outcome).toBe("fail");
  });

  test.each([{ kind: "timeout" }, { kind: "unreachable" }, { kind: "unreadable", error: "SyntaxError" }] as const)(
    "tries again after $kind",
    (failure) => {
      expect(stopOf(failure).outcome).toBe("retry");
    },
  );
});

describe("settle", () => {
  test.each([
    ["a job that ended", { kind: "ended", state: "applied" }],
    ["a job that failed for good", { kind: "ended", state: "failed" }],
    ["a job that another compactor has", { kind: "refused", code: "leased" }],
    ["a job that is done", { kind: "refused", code: "not_open" }],
    ["a job that is gone", { kind: "refused", code: "not_found" }],
  ] as const)("acknowledges %s", (_name, outcome) => {
    expect(settle(outcome, 1, 0.5)).toEqual({ kind: "ack" });
  });

  test.each([
    ["a job that waits for another attempt", { kind: "again", code: "model_status_429" } as const],
    ["a part of the plane that did not answer", undefined],
  ])("retries %s later and later, within five minutes, never all at the same second", (_name, outcome) => {
    const delays = [1, 2, 3, 4, 20].map((attempts) => settle(outcome, attempts, 0.999));
    expect(delays).toEqual([2, 4, 8, 16, 300].map((delaySeconds) => ({ kind: "retry", delaySeconds })));
    expect(settle(outcome, 4, 0)).toEqual({ kind: "retry", delaySeconds: 8 });
  });
});

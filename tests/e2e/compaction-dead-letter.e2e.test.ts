/** The queue's own deliveries, all of them, of a job whose model never answers: real back-off, the real dead-letter queue. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Compacting } from "../support/compacting.ts";
import { type Plane, type Tenant, startPlane, until } from "../support/harness.ts";
import { GOOD_SUMMARY, startModelServer } from "../support/model-server.ts";

const model = await startModelServer([{ kind: "status", status: 500 }]);
let plane: Plane;
let tenant: Tenant;

beforeAll(async () => {
  plane = await startPlane({
    compactor: { COMPACTION_MODEL: "openai-compatible/scripted", OPENAI_COMPATIBLE_BASE_URL: model.url },
  });
  tenant = await plane.tenant({ compaction: { threshold: 600, keep_recent_tokens: 100, automatic: false } });
});
afterAll(async () => {
  await plane.close();
  await model.close();
});

/** The first delivery and `max_retries` of the queue. */
const DELIVERIES = 6;

test("ends the job as failed, bills nothing, and a retry goes through", { timeout: 180_000 }, async () => {
  const session = await Compacting.open(plane, tenant, model);
  const { id } = await session.compact();
  const ended = await until(
    "the queue to give up",
    async () => {
      const job = await session.job(id);
      return job.state === "failed" && job;
    },
    150_000,
  );
  expect([ended.attempts, ended.error?.code, model.prompts.length]).toEqual([DELIVERIES, "model_status_500", DELIVERIES]);
  expect((await session.shown()).length).toBe(20);
  expect(await session.usageEvents()).toEqual([]);
  model.play({ kind: "text", text: GOOD_SUMMARY });
  await session.call("POST", `/compaction-jobs/${id}/retry`, {});
  expect(await session.ended(id)).toMatchObject({ state: "applied", attempts: 1 });
  await session.expectSound();
});

import { describe, expect, test, vi } from "vitest";
import { newId } from "@sessionplane/shared/ids";
import { err } from "@sessionplane/shared/result";
import type { JobRefusal } from "@sessionplane/shared/rpc/job-rpc";
import type { SessionRpc } from "@sessionplane/shared/rpc/session-rpc";
import type { CompactorEnv } from "./env.ts";
import worker from "./index.ts";

vi.mock("./log.ts", () => ({ logInfo: () => {}, logError: () => {} }));

const WAKE_UP = { v: 1, tenant_id: newId("tenant"), session_id: newId("session"), job_id: newId("job") };
const refused: JobRefusal = { code: "not_open", detail: "" };
type Answers = Pick<SessionRpc, "claimJob" | "deadLetterJob">;
const broken = (): never => {
  throw new Error("the object can't be reached");
};

/** What became of one message, and the objects that were named. */
async function deliver(body: unknown, queue = "compaction-jobs", answers: Partial<Answers> = {}) {
  const settled: string[] = [];
  const named: string[] = [];
  const session: Answers = { claimJob: async () => err(refused), deadLetterJob: async () => err(refused), ...answers };
  const env = {
    COMPACTION_MODEL: "builtin/extractive",
    OPENAI_COMPATIBLE_BASE_URL: "",
    SESSION: { getByName: (name: string) => (named.push(name), session as SessionRpc) },
    CATALOG: { priceUsage: broken },
  } satisfies CompactorEnv;
  const message = {
    id: "1",
    timestamp: new Date(),
    attempts: 1,
    body,
    ack: () => void settled.push("ack"),
    retry: (options?: { delaySeconds?: number }) => void settled.push(`retry ${options?.delaySeconds}`),
  };
  const batch = {
    queue,
    messages: [message],
    metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } },
    retryAll: broken,
    ackAll: broken,
  };
  await worker.queue(batch, env);
  return { settled, named };
}

describe("the compactor", () => {
  test("names the session's object by tenant and session, and acknowledges what is done", async () => {
    const { settled, named } = await deliver(WAKE_UP);
    expect(settled).toEqual(["ack"]);
    expect(named).toEqual([`${WAKE_UP.tenant_id}:${WAKE_UP.session_id}`]);
  });

  test.each([[null], ["text"], [{ ...WAKE_UP, v: 2 }], [{ ...WAKE_UP, tenant_id: "acme" }], [{ ...WAKE_UP, extra: 1 }]])(
    "acknowledges what is no wake-up: %j",
    async (body) => {
      const { settled, named } = await deliver(body);
      expect([settled, named]).toEqual([["ack"], []]);
    },
  );

  test("brings a message back when the object does not answer", async () => {
    const { settled } = await deliver(WAKE_UP, "compaction-jobs", { claimJob: broken });
    expect(settled).toEqual([expect.stringMatching(/^retry [12]$/)]);
  });

  test("ends the job of a dead letter, and brings the letter back when the object does not answer", async () => {
    const ended: string[] = [];
    const { settled } = await deliver(WAKE_UP, "compaction-jobs-dead", {
      deadLetterJob: async (id) => (ended.push(id), err(refused)),
    });
    expect([settled, ended]).toEqual([["ack"], [WAKE_UP.job_id]]);
    expect((await deliver(WAKE_UP, "compaction-jobs-dead", { deadLetterJob: broken })).settled).toEqual(["retry 5"]);
  });
});

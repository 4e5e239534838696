/** All workers, a bare queue and a model in one run. Jobs are asked for by hand, so that they begin when they shall. */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createTestHarness } from "wrangler";
import { type Call, caller, provisionTenant } from "../../scripts/demo/client.ts";
import { ROOT, WORKERS } from "../../scripts/plane.ts";
import { startModel } from "./model-server.ts";

const OPERATOR_KEY = `spo_${"bench".repeat(8)}`;
export const SERVED_MODEL = "openai-compatible/bench";
const MESSAGES_PER_CALL = 500;
const SENTENCE = "It was talked about for a while, and nothing came of it before the next one was asked for. ";

export type Plane = Awaited<ReturnType<typeof startPlane>>;
export type Job = { readonly id: string; readonly state: string; readonly error: unknown };

/** About 90 tokens. */
export const message = (id: string, index: number) => ({
  id,
  role: index % 2 === 0 ? "user" : "assistant",
  parts: [{ type: "text", text: `Item K${index} costs $${index}.10. ${SENTENCE.repeat(4)}` }],
});

export async function startPlane() {
  const model = await startModel();
  const varsOf: Readonly<Record<string, Record<string, string>>> = { compactor: { OPENAI_COMPATIBLE_BASE_URL: model.url } };
  const server = createTestHarness({
    workers: [
      ...WORKERS.map((worker) => ({
        configPath: join(ROOT, "workers", worker, "wrangler.jsonc"),
        vars: varsOf[worker] ?? {},
        ...(worker === "api" ? { secrets: { OPERATOR_KEY } } : {}),
      })),
      { configPath: join(ROOT, "bench/baselines/queue/wrangler.jsonc") },
    ],
  });
  const url = (await server.listen()).url.href.replace(/\/$/, "");
  await server.getWorker().applyD1Migrations("CATALOG");
  const queue = server.getWorker("sessionplane-bench-queue");

  return {
    model,

    tenant: async (modelId: string): Promise<Call> => {
      const compaction = { automatic: false, threshold: 2_000, keep_recent_tokens: 500, model: modelId };
      return (await provisionTenant(caller(url, OPERATOR_KEY), url, "bench", { compaction })).call;
    },

    /** A session with so many messages. */
    session: async (call: Call, count: number): Promise<string> => {
      const { id } = await call<{ id: string }>("POST", "/v1/sessions", {});
      for (let at = 0; at < count; at += MESSAGES_PER_CALL) {
        const length = Math.min(MESSAGES_PER_CALL, count - at);
        const messages = Array.from({ length }, (_, index) => message(`m${at + index}`, at + index));
        await call("POST", `/v1/sessions/${id}/messages`, { messages });
      }
      return id;
    },

    /** Sends messages through the bare queue, and waits until its consumer has had them all. */
    throughQueue: async (count: number, pollMs: number): Promise<void> => {
      const handled = async (method: string) => {
        const response = await queue.fetch(`http://bench/${method === "POST" ? count : ""}`, { method });
        return ((await response.json()) as { handled: number }).handled;
      };
      for (let done = await handled("POST"); done < count; done = await handled("GET")) await pause(pollMs);
    },

    close: async () => {
      await server.close();
      await model.close();
    },
  };
}

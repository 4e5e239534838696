/** The API against a bare object behind a Hono app, and the projection against plain D1 inserts. */
import { join } from "node:path";
import { createTestHarness } from "wrangler";
import { newId } from "@sessionplane/shared/ids";
import type { FactBatch } from "@sessionplane/shared/queue/fact";
import { caller, provisionTenant } from "../scripts/demo/client.ts";
import { ROOT, WORKERS } from "../scripts/plane.ts";
import { type Comparison, compare } from "./measure.ts";

const OPERATOR_KEY = `spo_${"bench".repeat(8)}`;
const REPETITIONS = 9;
const APPENDS = 200;
const HISTORY_MESSAGES = 4_000;
const EVENTS_PER_BATCH = 100;
const BATCHES = 10;

const message = (id: string) => ({ id, role: "user", parts: [{ type: "text", text: "a sentence of some length. ".repeat(12) }] });

function factBatch(round: string): FactBatch {
  const facts = Array.from({ length: EVENTS_PER_BATCH }, (_, index) => ({
    kind: "usage" as const,
    seq: index + 1,
    recorded_at: 1_780_000_000_000,
    event: {
      id: `${round}-${index}`,
      fingerprint: "f".repeat(64),
      provider: "openai",
      model: `model-${index % 4}`,
      purpose: "turn" as const,
      status: "final" as const,
      user_id: null,
      message_id: null,
      request_id: null,
      tags: {},
      occurred_at: 1_780_000_000_000 + index * 1_000,
      input_tokens: 900,
      output_tokens: 100,
      lines: (["input", "output"] as const).map((name) => ({
        class: name,
        quantity: 900,
        price: null,
        list_nano: 2_250_000,
        billed_nano: 2_250_000,
      })),
      raw_usage: "{}",
      normalizer_version: 1,
    },
  }));
  return { v: 1, tenant_id: newId("tenant"), session_id: newId("session"), after_seq: 0, to_seq: EVENTS_PER_BATCH, facts };
}

export async function api(): Promise<Comparison[]> {
  const server = createTestHarness({
    workers: [
      ...WORKERS.map((worker) => ({
        configPath: join(ROOT, "workers", worker, "wrangler.jsonc"),
        ...(worker === "api" ? { secrets: { OPERATOR_KEY } } : {}),
      })),
      { configPath: join(ROOT, "bench/baselines/wrangler.jsonc") },
    ],
  });
  try {
    const url = (await server.listen()).url.href.replace(/\/$/, "");
    await server.getWorker().applyD1Migrations("CATALOG");
    const bench = server.getWorker<{ CATALOG: D1Database }>("sessionplane-bench");
    await bench.applyD1Migrations("CATALOG");
    const { CATALOG } = await bench.getEnv();
    await CATALOG.prepare(
      "CREATE TABLE raw_events (tenant TEXT, session TEXT, id TEXT, event TEXT, PRIMARY KEY (tenant, session, id)) STRICT",
    ).run();

    const post = async (path: string, body: unknown) => {
      const response = await bench.fetch(`http://bench${path}`, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "Content-Type": "application/json" },
      });
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      await response.arrayBuffer();
    };
    // Both sides by the harness's own dispatch: the same way in.
    const apiWorker = server.getWorker();
    const tenant = await provisionTenant(caller(url, OPERATOR_KEY), url, "bench", { compaction: { automatic: false } });
    const send = async (path: string, body: unknown) => {
      const response = await apiWorker.fetch(`http://api${path}`, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${tenant.key}` },
      });
      if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      await response.arrayBuffer();
    };
    const { id: session } = await tenant.call<{ id: string }>("POST", "/v1/sessions", {});

    const append = await compare(
      "api_append_vs_bare",
      `${APPENDS} appends of 350 bytes, one after the other`,
      REPETITIONS,
      async (round) => {
        for (let index = 0; index < APPENDS; index++)
          await send(`/v1/sessions/${session}/messages`, { message: message(`${round}-${index}`) });
      },
      async (round) => {
        for (let index = 0; index < APPENDS; index++) await post("/rows/append", { messages: [message(`${round}-${index}`)] });
      },
    );

    const { id: long } = await tenant.call<{ id: string }>("POST", "/v1/sessions", {});
    for (let at = 0; at < HISTORY_MESSAGES; at += 500) {
      const messages = Array.from({ length: 500 }, (_, index) => message(`h${at + index}`));
      await send(`/v1/sessions/${long}/messages`, { messages });
      await post("/rows/history", { messages });
    }
    const read = async (worker: { fetch: typeof apiWorker.fetch }, path: string, headers: Record<string, string>) => {
      const response = await worker.fetch(path, { headers });
      if (!response.ok) throw new Error(`${path}: ${response.status}`);
      await response.arrayBuffer();
    };
    const history = await compare(
      "history_read_vs_bare",
      `${HISTORY_MESSAGES} messages of 350 bytes as NDJSON`,
      REPETITIONS,
      () =>
        read(apiWorker, `http://api/v1/sessions/${long}/messages`, {
          Authorization: `Bearer ${tenant.key}`,
          Accept: "application/x-ndjson",
        }),
      () => read(bench, "http://bench/rows/history", {}),
    );

    const projection = await compare(
      "projection_vs_raw_d1",
      `${BATCHES} batches of ${EVENTS_PER_BATCH} events with two lines; ours keeps rollups too`,
      REPETITIONS,
      async (round) => {
        for (let batch = 0; batch < BATCHES; batch++) await post("/projection", [factBatch(`${round}-${batch}`)]);
      },
      async (round) => {
        for (let batch = 0; batch < BATCHES; batch++) await post("/raw", [factBatch(`${round}-${batch}`)]);
      },
    );
    return [append, history, projection];
  } finally {
    await server.close();
  }
}

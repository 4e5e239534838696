import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { GOOD_SUMMARY, startModelServer } from "../../../tests/support/model-server.ts";
import { summaryPrompt } from "@sessionplane/engine/compaction/prompt";
import type { Entry } from "@sessionplane/engine/compaction/transcript";
import { rejectionOf } from "@sessionplane/engine/compaction/validate";
import type { CompactorEnv } from "./env.ts";
import { findModel } from "./models.ts";
import { type ModelCall, callModel } from "./summarise.ts";

const server = await startModelServer([{ kind: "status", status: 500 }]);
afterAll(() => server.close());
beforeEach(() => void server.prompts.splice(0));

const unused = (): never => {
  throw new Error("not part of this test");
};
const env = (patch: Partial<CompactorEnv> = {}): CompactorEnv => ({
  COMPACTION_MODEL: "",
  OPENAI_COMPATIBLE_BASE_URL: server.url,
  OPENAI_COMPATIBLE_API_KEY: "sk-secret",
  SESSION: { getByName: unused },
  CATALOG: { priceUsage: unused },
  ...patch,
});
const entries: Entry[] = [
  { kind: "message", id: "m1", role: "user", text: "Please book flight HAT123 for $152.10 on 2024-05-16." },
];
const asked: ModelCall = {
  prompt: summaryPrompt({ entries, nonce: "n0nce", targetTokens: 300, rejectedBecause: null }),
  targetTokens: 300,
  maxOutputTokens: 2_000,
  timeoutMs: 5_000,
};

function call(id: string, patch: Partial<ModelCall> = {}) {
  const model = findModel(env(), id);
  if (model === null) throw new Error(`no model ${id}`);
  return callModel(model, { ...asked, ...patch });
}

describe("findModel", () => {
  test("keeps slashes, colons and at signs in a model's name", () => {
    expect(findModel(env(), "openai-compatible/meta/llama:8b@v1")?.modelId).toBe("meta/llama:8b@v1");
  });

  test.each(["nobody/nothing", "builtin/other", "openai-compatible/", "/x", "plain", "", "workers-ai/@cf/meta/llama"])(
    "knows no model %j",
    (id) => {
      expect(findModel(env(), id)).toBeNull();
    },
  );

  test("knows no OpenAI-compatible model until a server is named", () => {
    expect(findModel(env({ OPENAI_COMPATIBLE_BASE_URL: "" }), "openai-compatible/x")).toBeNull();
  });
});

describe("callModel on builtin/extractive", () => {
  test("gives a summary that may stand, of the messages alone, and reports its usage", async () => {
    const answer = await call("builtin/extractive");
    if (!answer.ok) throw new Error(answer.error.kind);
    const { text, finishReason, usage } = answer.value;
    expect(rejectionOf({ text, finishReason, maxTokens: 300 })).toBeNull();
    for (const fact of ["HAT123", "$152.10", "2024-05-16"]) expect(text).toContain(fact);
    expect(text).not.toMatch(/boundary|n0nce|tokens|record/);
    expect(usage.reported).toMatchObject({ inputTokens: expect.any(Number), outputTokens: usage.estimated.output });
  });
});

describe("callModel on an OpenAI-compatible server", () => {
  test("sends instructions and prompt with the key, and gives text and usage", async () => {
    server.play({ kind: "text", text: GOOD_SUMMARY });
    const answer = await call("openai-compatible/scripted");
    expect(answer).toMatchObject({
      ok: true,
      value: { text: GOOD_SUMMARY, finishReason: "stop", usage: { reported: { inputTokens: 900, outputTokens: 40 } } },
    });
    const sent = JSON.parse(server.prompts[0] ?? "");
    expect(sent).toMatchObject({ model: "scripted", max_tokens: 2_000 });
    expect(sent.messages).toHaveLength(2);
    expect(JSON.stringify(sent)).not.toContain("targetTokens");
  });

  test.each([
    ["length", "length"],
    ["content_filter", "content-filter"],
  ] as const)("says that a text ended by %s", async (finish, finishReason) => {
    server.play({ kind: "text", text: GOOD_SUMMARY, finish });
    expect(await call("openai-compatible/scripted")).toMatchObject({ ok: true, value: { finishReason } });
  });

  test("gives an empty text as it is", async () => {
    server.play({ kind: "text", text: "" });
    expect(await call("openai-compatible/scripted")).toMatchObject({ ok: true, value: { text: "" } });
  });

  test.each([
    ["status 429", { kind: "status", status: 429 }, { kind: "status", status: 429 }],
    ["status 500", { kind: "status", status: 500 }, { kind: "status", status: 500 }],
    ["a page of a proxy", { kind: "garbage" }, { kind: "unreadable" }],
  ] as const)("makes one call and says what happened: %s", async (_name, scripted, failure) => {
    server.play(scripted);
    expect(await call("openai-compatible/scripted")).toMatchObject({ ok: false, error: failure });
    expect(server.prompts).toHaveLength(1);
  });

  test("gives up on a server that says nothing, and hangs up on it", async () => {
    server.play({ kind: "silent" });
    const before = server.dropped();
    expect(await call("openai-compatible/scripted", { timeoutMs: 100 })).toEqual({ ok: false, error: { kind: "timeout" } });
    await expect.poll(server.dropped).toBe(before + 1);
  });

  test("says that a server is not there", async () => {
    const model = findModel(env({ OPENAI_COMPATIBLE_BASE_URL: "http://127.0.0.1:9/v1" }), "openai-compatible/x");
    if (model === null) throw new Error("no model");
    expect(await callModel(model, asked)).toEqual({ ok: false, error: { kind: "unreachable" } });
  });
});

describe("callModel on Workers AI", () => {
  test("runs the model of the binding by its whole name", async () => {
    const ran: unknown[] = [];
    const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
    const binding: Ai = Object.assign(Object.create(null), {
      run: async (name: string) => (ran.push(name), { response: GOOD_SUMMARY, usage }),
    });
    const model = findModel(env({ AI: binding }), "workers-ai/@cf/meta/llama-3.1-8b-instruct");
    if (model === null) throw new Error("no model");
    expect(await callModel(model, asked)).toMatchObject({
      ok: true,
      value: { text: GOOD_SUMMARY, finishReason: "stop", usage: { reported: { inputTokens: 7, outputTokens: 3 } } },
    });
    expect(ran).toEqual(["@cf/meta/llama-3.1-8b-instruct"]);
  });
});

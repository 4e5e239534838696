import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { normaliseUsage } from "./normalise-usage.ts";

function read(report: Record<string, unknown>) {
  const result = normaliseUsage(report);
  if (!result.ok) return { code: result.error.code, pointers: result.error.errors?.map((one) => one.pointer) };
  const { counts, inputTokens, outputTokens, inconsistent } = result.value;
  const used = Object.fromEntries(Object.entries(counts).filter(([, count]) => count));
  return { ...used, in: inputTokens, out: outputTokens, ...(inconsistent.length > 0 ? { inconsistent } : {}) };
}

describe("normaliseUsage", () => {
  test("takes the AI SDK's parts out of its totals", () => {
    const usage = {
      ...{ inputTokens: 100, inputTokenDetails: { noCacheTokens: 60, cacheReadTokens: 30, cacheWriteTokens: 10 } },
      ...{ outputTokens: 20, outputTokenDetails: { textTokens: 15, reasoningTokens: 5 }, totalTokens: 120, raw: { any: 1 } },
    };
    expect(read(usage)).toEqual({ input: 60, cache_read: 30, cache_write_5m: 10, output: 15, reasoning: 5, in: 100, out: 20 });
  });

  test("reads the AI SDK's older names and its embeddings", () => {
    const older = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 40, reasoningTokens: 5, totalTokens: 120 };
    expect(read(older)).toEqual({ input: 60, cache_read: 40, output: 15, reasoning: 5, in: 100, out: 20 });
    expect(read({ tokens: 7 })).toEqual({ input: 7, in: 7, out: 0 });
  });

  test("takes OpenAI's parts out of its totals, in both APIs", () => {
    const details = [
      { cached_tokens: 30, audio_tokens: 10 },
      { reasoning_tokens: 4, audio_tokens: 6 },
    ] as const;
    const parts = { input: 60, input_audio: 10, cache_read: 30, output: 10, reasoning: 4, output_audio: 6, in: 100, out: 20 };
    const chat = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
    expect(read({ ...chat, prompt_tokens_details: details[0], completion_tokens_details: details[1] })).toEqual(parts);
    const responses = { input_tokens: 100, output_tokens: 20, total_tokens: 120 };
    expect(read({ ...responses, input_tokens_details: details[0], output_tokens_details: details[1] })).toEqual(parts);
  });

  test("adds Anthropic's cache to its input", () => {
    const usage = { input_tokens: 10, cache_read_input_tokens: 30, cache_creation_input_tokens: 7, output_tokens: 5 };
    expect(read(usage)).toEqual({ input: 10, cache_read: 30, cache_write_5m: 7, output: 5, in: 47, out: 5 });
    const split = { cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 } };
    expect(read({ ...usage, ...split })).toMatchObject({ cache_write_5m: 3, cache_write_1h: 4, in: 47 });
    expect(read({ input_tokens: 10, output_tokens: 5, ...split })).toMatchObject({
      cache_write_5m: 3,
      cache_write_1h: 4,
      in: 17,
    });
    const tooMany = { ...usage, cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 5 } };
    expect(read(tooMany)).toMatchObject({
      ...{ cache_write_5m: 2, cache_write_1h: 5, in: 47 },
      inconsistent: ["cache_creation_input_tokens is 7, but its parts add up to 8"],
    });
  });

  test("counts Anthropic's searches where no cache is spoken of", () => {
    expect(read({ input_tokens: 1, output_tokens: 1, server_tool_use: { web_search_requests: 2 } })).toMatchObject({
      web_search: 2,
    });
  });

  test("takes the cache out of Gemini's prompt and puts its thoughts beside the candidates", () => {
    const usage = {
      ...{ promptTokenCount: 100, cachedContentTokenCount: 40, candidatesTokenCount: 20, thoughtsTokenCount: 5 },
      ...{ toolUsePromptTokenCount: 9, totalTokenCount: 134 },
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 70 },
        { modality: "AUDIO", tokenCount: 30 },
      ],
      cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 20 }],
    };
    expect(read(usage)).toEqual({ input: 59, input_audio: 10, cache_read: 40, output: 20, reasoning: 5, in: 109, out: 25 });
  });

  test("takes the parts out of OpenTelemetry's totals", () => {
    const usage = {
      ...{ "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20 },
      ...{ "gen_ai.usage.cache_read.input_tokens": 30, "gen_ai.usage.reasoning.output_tokens": 5 },
    };
    expect(read(usage)).toEqual({ input: 70, cache_read: 30, output: 15, reasoning: 5, in: 100, out: 20 });
  });

  test("takes our classes as they are, whatever stands beside them", () => {
    expect(read({ input: 1, cache_write_1h: 2, output: 3, web_search: 4, note: "kept" })).toEqual({
      ...{ input: 1, cache_write_1h: 2, output: 3, web_search: 4, in: 3, out: 3 },
    });
  });

  test("takes a gateway's Anthropic fields beside OpenAI's totals as parts of them", () => {
    const usage = { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105, cache_read_input_tokens: 40 };
    expect(read(usage)).toEqual({ input: 60, cache_read: 40, output: 5, in: 100, out: 5 });
  });

  test("reads input_tokens with no cache as every family does", () => {
    expect(read({ input_tokens: 10, output_tokens: 5 })).toEqual({ input: 10, output: 5, in: 10, out: 5 });
  });

  test("refuses input_tokens beside the cache fields of two families, naming both readings", () => {
    const usage = {
      input_tokens: 100,
      output_tokens: 5,
      input_tokens_details: { cached_tokens: 40 },
      cache_read_input_tokens: 40,
    };
    const result = normaliseUsage(usage);
    expect(result).toMatchObject({ ok: false, error: { code: "ambiguous_usage" } });
    expect(result.ok ? "" : result.error.detail).toMatch(/OpenAI Responses \(input 60.*Anthropic \(input 100/);
    expect(read({ ...usage, input_tokens_details: { cached_tokens: 0 }, cache_read_input_tokens: 0 })).toMatchObject({
      input: 100,
    });
  });

  test.each([
    [{}, ["/usage"]],
    [{ inputTokens: null, outputTokens: null }, ["/usage"]],
    [{ totalTokens: 5 }, ["/usage"]],
    [{ inputTokens: -1, outputTokens: 1 }, ["/usage/inputTokens"]],
    [{ inputTokens: 1.5, outputTokens: -2 }, ["/usage/inputTokens", "/usage/outputTokens"]],
    [{ inputTokens: "5" }, ["/usage/inputTokens"]],
    [{ inputTokens: 2 ** 53 }, ["/usage/inputTokens"]],
    [{ input: 2 ** 53 - 1, output: 1 }, ["/usage"]],
    [{ inputTokens: 5, inputTokenDetails: { cacheReadTokens: -1 } }, ["/usage/inputTokenDetails/cacheReadTokens"]],
    [
      { promptTokenCount: 1, promptTokensDetails: [{ modality: "AUDIO", tokenCount: 0.5 }] },
      ["/usage/promptTokensDetails/0/tokenCount"],
    ],
  ])("refuses %j as invalid", (usage, pointers) => expect(read(usage)).toEqual({ code: "invalid", pointers }));

  test.each([
    [{ inputTokens: 5, cachedInputTokens: 6 }, { cache_read: 5, in: 5 }, "inputTokens is 5, but its parts add up to 6"],
    [
      { inputTokens: 5, inputTokenDetails: { noCacheTokens: 4, cacheReadTokens: 0 } },
      { input: 5, in: 5 },
      "inputTokens is 5, but its parts add up to 4",
    ],
    [
      { inputTokens: 5, inputTokenDetails: { noCacheTokens: 4, cacheReadTokens: 3 } },
      { input: 2, cache_read: 3, in: 5 },
      "inputTokens is 5, but its parts add up to 7",
    ],
    [
      { prompt_tokens: 9, prompt_tokens_details: { audio_tokens: 4, cached_tokens: 4, cache_write_tokens: 4 } },
      { input_audio: 4, cache_read: 4, cache_write_5m: 1, in: 9 },
      "prompt_tokens is 9, but its parts add up to 12",
    ],
    [
      { prompt_tokens: 5, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 6 } },
      { input: 5, reasoning: 5, in: 5, out: 5 },
      "completion_tokens is 5, but its parts add up to 6",
    ],
    [
      { prompt_tokens: 5, completion_tokens: 5, total_tokens: 11 },
      { input: 5, output: 5 },
      "total_tokens is 11, but its parts add up to 10",
    ],
    [
      { inputTokens: 5, outputTokens: 5, totalTokens: 9 },
      { input: 5, output: 5 },
      "totalTokens is 9, but its parts add up to 10",
    ],
    [
      { promptTokenCount: 5, cachedContentTokenCount: 6 },
      { cache_read: 5, in: 5 },
      "promptTokenCount is 5, but its parts add up to 6",
    ],
  ])("reads %j, which does not add up, without counting a token twice, and says so", (usage, counts, why) =>
    expect(read(usage)).toMatchObject({ ...counts, inconsistent: [why] }),
  );

  test("says of a report in two shapes what does not add up in either", () => {
    const usage = { inputTokens: 5, outputTokens: 5, prompt_tokens: 5, completion_tokens: 5, total_tokens: 11 };
    expect(read(usage)).toMatchObject({ in: 5, out: 5, inconsistent: ["total_tokens is 11, but its parts add up to 10"] });
  });

  test("counts no field for its name, and images with the text that they came with", () => {
    const usage = {
      ...{ prompt_tokens: 100, completion_tokens: 5, input_tokens_billed: 100, total_input: 100, cached_input: 80 },
      prompt_tokens_details: { cached_tokens: 80, text_tokens: 30, image_tokens: 70 },
    };
    expect(read(usage)).toEqual({ input: 20, cache_read: 80, output: 5, in: 100, out: 5 });
  });

  const count = fc.nat(1_000_000_000);

  test("gives classes that add up to the totals, whatever the parts", () => {
    fc.assert(
      fc.property(count, count, count, count, count, (input, cached, written, text, reasoning) => {
        const total = { input: input + cached + written, output: text + reasoning };
        const expected = { in: total.input, out: total.output };
        const sdk = { inputTokens: total.input, inputTokenDetails: { cacheReadTokens: cached, cacheWriteTokens: written } };
        const sdkOut = { outputTokens: total.output, outputTokenDetails: { reasoningTokens: reasoning } };
        expect(read({ ...sdk, ...sdkOut, totalTokens: total.input + total.output })).toMatchObject(expected);
        const anthropic = { input_tokens: input, cache_read_input_tokens: cached, cache_creation_input_tokens: written };
        expect(read({ ...anthropic, output_tokens: total.output })).toMatchObject(expected);
        const ours = read({ input, cache_read: cached, cache_write_5m: written, output: text, reasoning });
        expect(ours).toEqual(read({ ...sdk, ...sdkOut }));
      }),
    );
  });

  test("never reads more or fewer tokens than a report's totals say, and says when its parts are more", () => {
    fc.assert(
      fc.property(count, count, count, count, count, (input, cached, written, output, reasoning) => {
        const result = read({
          ...{ prompt_tokens: input, prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written } },
          ...{ completion_tokens: output, completion_tokens_details: { reasoning_tokens: reasoning } },
        });
        expect(result).toMatchObject({ in: input, out: output });
        expect("inconsistent" in result).toBe(cached + written > input || reasoning > output);
      }),
    );
  });
});

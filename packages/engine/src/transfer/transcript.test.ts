import { describe, expect, test } from "vitest";
import { TranscriptReader, type TranscriptFormat, type Unmapped } from "./transcript.ts";

function read(format: TranscriptFormat, lines: readonly unknown[]) {
  const unmapped: Unmapped[] = [];
  let next = 0;
  const reader = new TranscriptReader(format, () => `n${next++}`, unmapped);
  const messages = [...lines.flatMap((line, index) => reader.push(line, index + 1) ?? [null]), ...reader.end()];
  return { messages, unmapped };
}

const call = { type: "dynamic-tool", toolCallId: "c1", toolName: "weather", input: { city: "Oslo" } };
const answered = { ...call, state: "output-available", output: "rain" };

describe("OpenAI's chat completions", () => {
  test("become messages, a tool's result in the part of its call", () => {
    const { messages, unmapped } = read("openai", [
      { role: "developer", content: "be brief" },
      {
        role: "user",
        content: [
          { type: "text", text: "look" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: "rain" },
      { role: "assistant", content: "It rains." },
    ]);
    expect(unmapped).toEqual([]);
    expect(messages).toEqual([
      { id: "n0", role: "system", parts: [{ type: "text", text: "be brief" }] },
      {
        id: "n1",
        role: "user",
        parts: [
          { type: "text", text: "look" },
          { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" },
        ],
      },
      { id: "n2", role: "assistant", parts: [answered] },
      { id: "n3", role: "assistant", parts: [{ type: "text", text: "It rains." }] },
    ]);
  });

  test("tell what has no place", () => {
    const { messages, unmapped } = read("openai", [
      {
        role: "user",
        content: [
          { type: "input_audio", input_audio: { data: "x" } },
          { type: "text", text: "hi" },
        ],
      },
      { role: "tool", tool_call_id: "lost", content: "x" },
    ]);
    expect(messages).toHaveLength(1);
    expect(unmapped.map(({ line }) => line)).toEqual([1, 2]);
  });

  test("may be a whole request on one line", () => {
    expect(
      read("openai", [
        {
          model: "m",
          messages: [
            { role: "user", content: "a" },
            { role: "assistant", content: "b" },
          ],
        },
      ]).messages,
    ).toHaveLength(2);
  });
});

describe("Anthropic's messages", () => {
  test("become messages, thinking and results in their places", () => {
    const { messages, unmapped } = read("anthropic", [
      { system: "be brief", messages: [{ role: "user", content: "weather?" }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm", signature: "s" },
          { type: "tool_use", id: "c1", name: "weather", input: { city: "Oslo" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "c1", content: [{ type: "text", text: "rain" }] },
          { type: "text", text: "and now?" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "redacted_thinking", data: "x" },
          { type: "text", text: "Rain." },
        ],
      },
    ]);
    expect(messages.map((one) => one?.role)).toEqual(["system", "user", "assistant", "user", "assistant"]);
    expect(messages[2]?.parts).toEqual([{ type: "reasoning", text: "hm" }, answered]);
    expect(messages[3]?.parts).toEqual([{ type: "text", text: "and now?" }]);
    expect(unmapped).toEqual([{ line: 4, what: "a block of type redacted_thinking" }]);
  });

  test("keep a failed call as failed", () => {
    const { messages } = read("anthropic", [
      { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "weather", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c1", content: "no city", is_error: true }] },
    ]);
    expect(messages).toMatchObject([{ parts: [{ state: "output-error", errorText: "no city" }] }]);
  });
});

describe("the AI SDK's messages", () => {
  test("of the UI stay as they are", () => {
    const message = { id: "m", role: "user", parts: [{ type: "text", text: "hi" }], metadata: { a: 1 } };
    expect(read("ai-sdk", [message]).messages).toMatchObject([message]);
  });

  test("of a model become the UI's", () => {
    const { messages } = read("ai-sdk", [
      { role: "user", content: [{ type: "image", image: "AAAA", mediaType: "image/png" }] },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "weather", input: { city: "Oslo" } }] },
      {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: "c1", toolName: "weather", output: { type: "text", value: "rain" } }],
      },
    ]);
    expect(messages.map((one) => one?.parts)).toEqual([
      [{ type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" }],
      [answered],
    ]);
  });
});

test.each(["openai", "anthropic", "ai-sdk"] as const)("what is no message of %s is none", (format) => {
  for (const value of [null, 7, "x", [], {}, { role: "wizard", content: "x" }, { messages: [7] }]) {
    expect(new TranscriptReader(format, () => "id", []).push(value, 1)).toBeNull();
  }
});

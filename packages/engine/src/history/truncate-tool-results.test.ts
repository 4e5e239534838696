import { describe, expect, test } from "vitest";
import { truncateOlderToolResults } from "./truncate-tool-results.ts";

type Result = { type: string; toolCallId: string; toolName: string; output: unknown };
const result = (toolCallId: string, output: unknown): Result => ({ type: "tool-result", toolCallId, toolName: "read", output });
const tool = (...content: Result[]) => ({ role: "tool", content });
const said = { role: "user", content: "go on" };
const LONG = "x".repeat(1_000);
const text = { type: "text", value: LONG };
/** The output of an older result. */
const older = (output: unknown): unknown =>
  truncateOlderToolResults([tool(result("c", output)), said], null, { keepRecent: 1 }).flatMap(({ content }) =>
    typeof content === "string" ? [] : content.map((part) => part.output),
  )[0];

describe("an older result", () => {
  test.each(["text", "error-text"])("of the type %s is cut as a text", (type) => {
    expect(older({ type, value: LONG })).toEqual({ type, value: `${"x".repeat(474)}... [truncated 1000 chars]` });
  });

  test.each(["json", "error-json"])("of the type %s keeps its shape", (type) => {
    const kept = older({ type, value: { path: "/a", content: LONG } }) as { value: object };
    expect(kept).toMatchObject({ type, value: { path: "/a" } });
    expect(JSON.stringify(kept.value).length).toBe(500);
  });

  test("of several items has their texts in one limit, and no bytes in place", () => {
    const link = { type: "image-url", url: "https://example.com/a.png" };
    const kept = older({
      type: "content",
      value: [
        { type: "text", text: "x".repeat(300) },
        { type: "file-data", data: "AAAA", mediaType: "image/png" },
        { type: "file", data: { type: "data", data: new Uint8Array(3) }, mediaType: "application/pdf" },
        { type: "text", text: LONG },
        link,
        { type: "text", text: "never read" },
      ],
    });
    expect(kept).toEqual({
      type: "content",
      value: [
        { type: "text", text: "x".repeat(300) },
        { type: "text", text: "[image/png left out]" },
        { type: "text", text: "[application/pdf left out]" },
        { type: "text", text: `${"x".repeat(174)}... [truncated 1000 chars]` },
        link,
      ],
    });
  });

  test.each([
    { type: "execution-denied", reason: LONG },
    { type: "content", value: [{ type: "text", text: "short" }] },
    { type: "text", value: "short" },
    LONG,
  ])("that is short, or of no type with a value, stays: %#", (output) => {
    expect(older(output)).toBe(output);
  });
});

test("newer results and other roles are the same objects, and nothing older gives the same array", () => {
  const messages = [said, { role: "assistant", content: [result("p", text)] }, tool(result("c", text)), said];
  expect(truncateOlderToolResults(messages, null, { keepRecent: 4 })).toBe(messages);
  const cut = truncateOlderToolResults(messages, null, { keepRecent: 1 });
  expect(cut.map((message, index) => message === messages[index])).toEqual([true, true, false, true]);
});

test("with the messages that were converted, theirs are what is older, also when a call's id comes again", () => {
  const part = (more: object = {}) => ({ type: "tool-read", toolCallId: "c", state: "output-available", output: LONG, ...more });
  const ui = [
    { parts: [part({ providerExecuted: true }), part({ state: "input-available" }), part()] },
    { parts: [{ type: "text", text: "thanks" }] },
    { parts: [part()] },
  ];
  const model = [{ role: "assistant", content: [] as Result[] }, tool(result("c", text)), said, tool(result("c", text))];
  const cut = truncateOlderToolResults(model, ui, { keepRecent: 1 });
  expect(cut.map((message, index) => message === model[index])).toEqual([true, false, true, true]);
  expect(truncateOlderToolResults(model, ui, { keepRecent: 1, step: 8 })).toBe(model);
});

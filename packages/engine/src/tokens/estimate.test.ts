import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Message } from "@sessionplane/shared/message";
import { estimateMessage, estimateText } from "./estimate.ts";

const message = (...parts: Message["parts"]): Message => ({ id: "m", role: "user", parts });

describe("estimateText", () => {
  test.each([
    ["", 0],
    ["Hello world", 3],
    ["one two three four", 6],
    ["x".repeat(400), 100],
    ["用户喜欢咖啡很多很多", 10],
  ])("counts %j as %i", (text, tokens) => expect(estimateText(text)).toBe(tokens));

  test("never shrinks when text is added", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.string({ unit: "grapheme" }),
        (a, b) => estimateText(a + b) >= estimateText(a),
      ),
    );
  });
});

describe("estimateMessage", () => {
  test("counts the framing of an empty message", () => expect(estimateMessage(message())).toBe(4));
  test("counts a tool's input and output as JSON", () => {
    const part = { type: "tool-search", toolCallId: "c", input: { q: "abcd" }, output: { hits: [1, 2, 3] } };
    expect(estimateMessage(message(part))).toBe(4 + estimateText('{"q":"abcd"}') + estimateText('{"hits":[1,2,3]}'));
  });
  test("counts an inline image at a fixed price and a remote one at none", () => {
    expect(estimateMessage(message({ type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" }))).toBe(1_604);
    expect(estimateMessage(message({ type: "file", mediaType: "image/png", url: "https://example.org/a.png" }))).toBe(4);
  });
});

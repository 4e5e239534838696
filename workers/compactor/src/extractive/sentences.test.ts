import { describe, expect, test } from "vitest";
import { isFragment, sentencesOf, shortened } from "./sentences.ts";

describe("sentencesOf", () => {
  test("ends a sentence at its mark and at a line's end", () => {
    expect(sentencesOf("It costs $12.50 today. Would that be fine?\nThe other one is gone")).toEqual([
      "It costs $12.50 today.",
      "Would that be fine?",
      "The other one is gone",
    ]);
  });

  test("cuts a very long one between words", () => {
    const [sentence = ""] = sentencesOf("lengthy ".repeat(200));
    expect(sentence).toMatch(/^(lengthy )+lengthy…$/);
    expect(sentence.length).toBeLessThan(500);
  });
});

describe("shortened", () => {
  test.each([
    ["one two three four five six", 6, "one two three…"],
    ["one two three", 6, "one two three"],
    ["用户喜欢咖啡很多很多", 5, "用户喜欢…"],
  ])("makes %j at %i tokens %j", (text, tokens, expected) => expect(shortened(text, tokens)).toBe(expected));
});

describe("isFragment", () => {
  test.each(["Flight Number: HAT110", "Here are some options:", "sheet = client.open(name)", "import gspread", "if (ready) {"])(
    "is %j",
    (line) => expect(isFragment(line)).toBe(true),
  );
  test.each([
    "It is booked.",
    "用户喜欢咖啡很多",
    "Note: it leaves on Monday, not on Sunday as was said.",
    "book the second one for me please",
  ])("is not %j", (line) => expect(isFragment(line)).toBe(false));
});

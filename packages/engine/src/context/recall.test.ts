import { expect, test } from "vitest";
import { recallText } from "./recall.ts";

const original = (id: string, text = id) => ({ id, role: "user", text });

test("originals are shown with who said them and their ids", () => {
  expect(recallText([original("m1", "hello"), original("m2", "world")])).toBe("[user] (m1) hello\n---\n[user] (m2) world");
  expect(recallText([])).toBeNull();
});

test("what does not fit is left, with the id to go on after; no more is read than that", () => {
  let read = 0;
  function* many() {
    for (let index = 0; index < 1_000; index++) {
      read += 1;
      yield original(`m${index}`, "abcd".repeat(100));
    }
  }
  const text = recallText(many(), 350);
  expect(text).toContain('call again with after: "m2"');
  expect(text).not.toContain("(m3)");
  expect(read).toBe(4);
});

test("one that is larger than everything is cut, between characters", () => {
  const text = recallText([original("m1", "😀".repeat(20_000))], 10);
  expect(text?.isWellFormed()).toBe(true);
  expect(text).toContain("more characters]");
});

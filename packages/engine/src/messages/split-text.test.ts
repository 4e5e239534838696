import fc from "fast-check";
import { expect, test } from "vitest";
import { splitText, utf8Bytes } from "./split-text.ts";

test("pieces are the text, each fits and none cuts a code point", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), fc.integer({ min: 12, max: 60 }), (text, maxBytes) => {
      const pieces = splitText(text, maxBytes);
      expect(pieces.join("")).toBe(text);
      expect(pieces.length).toBeGreaterThan(0);
      for (const piece of pieces) {
        expect(utf8Bytes(piece)).toBeLessThanOrEqual(maxBytes);
        expect(piece.isWellFormed()).toBe(true);
      }
    }),
  );
});

test("a text that fits stays whole", () => {
  expect(splitText("ěšč", 6)).toEqual(["ěšč"]);
  expect(splitText("", 6)).toEqual([""]);
});

import { expect, test } from "vitest";
import { listingOf } from "./listing.ts";

test("a document is a line, with its description when it has one", () => {
  const documents = [
    { key: "a", description: "Letter\na" },
    { key: "b", description: null },
  ];
  expect(listingOf(documents)).toBe("- a: Letter a\n- b");
  expect(listingOf([])).toBe("");
});

test("what does not fit is counted", () => {
  const documents = Array.from({ length: 100 }, (_, index) => ({ key: `document-${index}`, description: null }));
  const lines = listingOf(documents, 100).split("\n");
  expect(lines.at(-1)).toBe(`- … and ${100 - lines.length + 1} more, which can be loaded by their keys`);
});

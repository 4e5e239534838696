import { expect, test } from "vitest";
import { byteRange } from "./byte-range.ts";

test.each([
  [undefined, null],
  ["bytes=0-3", { offset: 0, length: 4 }],
  ["bytes=4-", { offset: 4, length: 6 }],
  ["bytes=-3", { offset: 7, length: 3 }],
  ["bytes=-30", { offset: 0, length: 10 }],
  ["bytes=8-99", { offset: 8, length: 2 }],
  ["bytes=10-", "unsatisfiable"],
  ["bytes=5-2", "unsatisfiable"],
  ["bytes=-0", "unsatisfiable"],
  ["bytes=-", null],
  ["bytes=0-1,3-4", null],
  ["lines=0-1", null],
])("%s of ten bytes", (header, expected) => {
  expect(byteRange(header, 10)).toEqual(expected);
});

import { expect, test } from "vitest";
import { namesOf, parseGrouping } from "./grouping.ts";

test("groups and tags are told apart, each once", () => {
  expect(parseGrouping("model,tag.team,user,tag.team,model,tag.model")).toEqual({
    groups: ["model", "user"],
    tags: ["team", "model"],
  });
  expect(parseGrouping("")).toEqual({ groups: [], tags: [] });
});

test("a key may hold anything; a comma and a backslash are written with a backslash", () => {
  const grouping = parseGrouping(String.raw`tag.a\,b,tag.c\\d,tag.é "x' $.y,tag.tag.z`);
  expect(grouping?.tags).toEqual(["a,b", String.raw`c\d`, `é "x' $.y`, "tag.z"]);
  expect(parseGrouping("tag.a\\")?.tags).toEqual(["a\\"]);
  expect(namesOf({ groups: ["user"], tags: ["a,b"] })).toEqual(["user", "tag.a,b"]);
});

test.each([
  "region",
  "tag.",
  `tag.${"k".repeat(65)}`,
  "model,Model",
  "tag",
  Array.from({ length: 17 }, (_, n) => `tag.${n}`).join(","),
])("%j names no groups", (text) => {
  expect(parseGrouping(text)).toBeNull();
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { skillKeySchema } from "@sessionplane/shared/skill";
import { entryKey } from "./entry-key.ts";

test("a title is the key, the same title the same key", () => {
  expect(entryKey("Deployment Plan!", "a")).toBe("deployment-plan");
  expect(entryKey("deployment plan", "b")).toBe("deployment-plan");
});

test("a title of other letters has a key of its own", () => {
  const [first, second] = [entryKey("咖啡", "a"), entryKey("茶", "a")];
  expect(first).toMatch(/^entry-[a-z0-9]+$/);
  expect(first).not.toBe(second);
  expect(entryKey("咖啡", "b")).toBe(first);
});

test("titles that differ in what a key can't hold have keys of their own", () => {
  const long = "the same beginning of a title that goes on for more than sixty characters ";
  for (const [one, other] of [
    ["日本 1", "中国 1"],
    ["Счёт 1", "Договор 1"],
    [`${long}one`, `${long}two`],
  ] as const)
    expect(entryKey(one, "a")).not.toBe(entryKey(other, "a"));
  expect(entryKey("Café", "a")).toMatch(/^caf-[a-z0-9]+$/);
});

test("without a title the content is the key; contents that begin alike do not collide", () => {
  const beginning = "the same beginning of a text that goes on for more than sixty characters ";
  expect(entryKey(undefined, `${beginning}one`)).not.toBe(entryKey(undefined, `${beginning}two`));
  expect(entryKey(" ", "咖啡")).toMatch(/^entry-[a-z0-9]+$/);
});

test("any text gives a key that an entry may have", () => {
  fc.assert(
    fc.property(fc.option(fc.string({ unit: "binary" }), { nil: undefined }), fc.string({ unit: "binary" }), (title, content) => {
      expect(skillKeySchema.safeParse(entryKey(title, content)).success).toBe(true);
    }),
  );
});

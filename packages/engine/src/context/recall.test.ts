/** Originals as text for a model. */
import { expect, test } from "vitest";
import { estimateText } from "../tokens/estimate.ts";
import { type Original, renderOriginals } from "./recall.ts";

const originals = (count: number, text = "word ".repeat(20)): Original[] =>
  Array.from({ length: count }, (_, index) => ({ id: `m${index}`, role: index % 2 === 0 ? "user" : "assistant", text }));

test("each stands below its role and id", () => {
  expect(renderOriginals(originals(2, "said"))).toBe('[user, id "m0"]\nsaid\n\n[assistant, id "m1"]\nsaid');
});

test("nothing is null", () => {
  expect(renderOriginals([])).toBeNull();
});

test("a budget is kept, and what is left out is said", () => {
  const text = renderOriginals(originals(10), 100) ?? "";
  expect(text).toMatch(/\(There is more: ask again with after "m\d"\.\)$/);
  expect(estimateText(text)).toBeLessThan(150);
  expect(text).toContain("m1");
  expect(text).not.toContain("m5");
});

test("no more is read than is shown, and one", () => {
  let read = 0;
  function* counted(): Generator<Original> {
    for (const original of originals(100)) {
      read += 1;
      yield original;
    }
  }
  renderOriginals(counted(), 100);
  expect(read).toBeLessThan(6);
});

test("one that is larger than the budget is given by its beginning, and never half a character of it", () => {
  for (const text of ["word ".repeat(1_000), "咖啡".repeat(1_000), "🙂".repeat(1_000)]) {
    const shown = renderOriginals([{ id: "m", role: "user", text }, ...originals(1)], 100) ?? "";
    expect(estimateText(shown)).toBeLessThan(140);
    expect(shown.isWellFormed()).toBe(true);
    expect(shown).toContain('after "m"');
  }
});

test("an id of any characters stays on its line", () => {
  expect(renderOriginals([{ id: 'a"\nb', role: "user", text: "x" }])).toBe('[user, id "a\\"\\nb"]\nx');
});

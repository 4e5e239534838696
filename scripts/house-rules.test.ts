import { describe, expect, test } from "vitest";
import { brokenRules } from "./house-rules.ts";

/** The dots keep this file from breaking the rules itself. */
const undotted = (text: string): string => text.replaceAll("·", "");
const code = (text: string, path = "packages/engine/src/tree/runs.ts") => brokenRules({ path, text: undotted(text) });

describe("brokenRules", () => {
  test("accepts code that says what it is", () => {
    expect(code('import { a } from "./a.ts";\nexport const b = a + 1;\n')).toEqual([]);
  });

  test.each([
    ["await storage.transaction(·async () => 1)", "awaits in a transaction: other work would run between its writes"],
    ["// oxlint-·disable-next-line no-console", "switches a check off"],
    ["// TO·DO: later", "leaves something to do: do it, or write an issue"],
    ['const folder = "/ro·ot/work";', "names a folder of one machine"],
    ['export { a } from "./a.ts";\nexport * from "./b.ts";', "only hands on other files' names"],
  ])("refuses %j", (text, why) => expect(code(text)).toContain(why));

  test("refuses a drawer by its name, wherever it stands", () => {
    expect(code("export const a = 1;", "workers/api/src/utils.ts")).toEqual(["has no name of its own"]);
    expect(code("export const a = 1;", "workers/api/src/lib/money.ts")).toEqual(["has no name of its own"]);
  });

  test("lets a worker's entry hand on its classes", () => {
    expect(code('export { SessionDO } from "./session-do.ts";', "workers/session-do/src/index.ts")).toEqual([]);
  });

  test("looks at code alone", () => expect(code("/ro·ot/x", "docs/operations.md")).toEqual([]));
});
